"""A corpus that is searched before the model has read it: what is found, what is scored, what waits, what stays."""

import json

import numpy as np
import pytest

from sbert_app.corpus.findings import Mined
from sbert_app.corpus.growing import BY_WORDS, CANDIDATES, FIRST, LEARNED, StaticVectors
from sbert_app.corpus.hits import RANKINGS, Indexing
from sbert_app.corpus.indexed import DENSE, IndexedCorpus
from sbert_app.corpus.ranking.fusion import best_rows
from sbert_app.jobs.corpus import job
from sbert_app.jobs.corpus.job import ENCODING, INDEXING, index
from sbert_app.jobs.corpus.opening import WORDS, open_example
from sbert_app.jobs.duplicates.job import findings_of, mine
from sbert_app.jobs.labelling import begin
from sbert_app.jobs.map.job import ClusterOptions, draw
from sbert_app.jobs.map.kept import SKETCH, begins, preview
from sbert_app.jobs.search.job import FIRST_HITS, SearchOptions, beside, first_hits
from sbert_app.jobs.search.open_corpus import judge, judgements, weak_below
from sbert_app.jobs.search.why_not import WhyNotOptions, why_not
from sbert_app.models import tokens
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.ui.corpus import view as corpus_view
from tests.jobs.refusals import refused
from tests.searching import brought, more_like, search

QUERIES = ("charged two times", "I cannot get into my account", "the parcel did not arrive", "no sound from the speaker")


@pytest.fixture
def texts(sentences):
    """Sentences whose embeddings do not come with the app."""
    return [f"{sentence} Please help." for sentence in sentences]


@pytest.fixture
def reading(bench, monkeypatch):
    """A session that reads these lines, its steps worked off up to this stage; and the steps that follow."""
    monkeypatch.setattr(job, "AT_ONCE", 100)

    def begun(lines, stage=ENCODING):
        session = brought(bench, lines)
        steps = index(bench, session, ["text"])
        return session, steps, next(step for step in steps if step.stage == stage)

    return begun


@pytest.fixture
def unread(reading, texts):
    """A session whose corpus of 926 tickets is open, of which the model has read nothing; the steps that index it."""
    session, steps, _ = reading(texts)
    assert session.corpus().growing.read == 0
    return session, steps


def test_the_first_answer_is_that_of_the_whole_index(bench, unread):
    session, steps = unread
    first = {query: search(bench, session, query, 5) for query in QUERIES}
    for number, result in enumerate(first.values(), 1):
        assert len(result.hits) == 5 and result.read <= number * CANDIDATES and result.searched == result.fitting == 926
    *_, last = steps
    assert last.result is session.get(IndexedCorpus) and session.corpus().growing is None and session.get(Indexing).rate > 0
    whole = {query: search(bench, session, query, 5) for query in QUERIES}
    shared = [{hit.row for hit in first[query].hits} & {hit.row for hit in whole[query].hits} for query in QUERIES]
    assert [first[query].hits[0].row for query in QUERIES] == [whole[query].hits[0].row for query in QUERIES]
    assert sum(map(len, shared)) >= 16 and all(result.read is None for result in whole.values())


LONG = "the courier left my parcel with a neighbour in spring, and neither the invoice nor the card reader has worked since"


def test_among_the_rows_that_are_read_are_the_best_by_words_of_a_long_query(bench, unread):
    growing, lexical = unread[0].corpus().growing, unread[0].corpus().lexical
    vector = bench.registry.encoder().encode([LONG])[0]
    rows, scores = growing.candidates(vector, LONG, None), lexical.scores(LONG)
    assert len(rows) == len(set(rows.tolist())) == CANDIDATES
    assert {*best_rows(scores, BY_WORDS).tolist()} <= {*rows.tolist()}


@pytest.mark.parametrize("ranking", RANKINGS)
def test_a_score_is_the_models_cosine_never_a_static_one(bench, unread, ranking):
    session, _ = unread
    hits = search(bench, session, QUERIES[0], 10, ranking=ranking).hits
    query, *rows = bench.registry.encoder().encode([QUERIES[0], *(hit.sentence for hit in hits)])
    np.testing.assert_allclose([hit.score for hit in hits], np.array(rows) @ query, atol=1e-3)
    assert more_like(bench, session, 7, 5).hits
    other = beside(bench, session, DENSE, SearchOptions(QUERIES[0]))
    assert [hit.score for hit in other.hits] == sorted((hit.score for hit in other.hits), reverse=True)


def test_only_rows_that_fit_the_filters_are_read(bench, unread):
    session, _ = unread
    result = search(bench, session, QUERIES[0], 10, filters={"text": {"contains": "refund"}})
    growing = session.corpus().growing
    read = [growing.sentences[row] for row in np.flatnonzero(growing.done)]
    assert 0 < result.fitting < 926 and read and all("refund" in sentence.lower() for sentence in read)


def test_first_hits_are_of_the_rows_that_are_read_first_and_only_where_reading_takes_long(bench, reading, texts):
    session, _, _ = reading([f"{text} {' '.join(sorted(text.split()))} {number}" for number, text in enumerate(texts)])
    asked, growing = SearchOptions(QUERIES[0]), session.corpus().growing
    early = first_hits(bench, session, asked)
    assert early.read == growing.read == FIRST and early.cautions[0] == FIRST_HITS and early.hits[0].maxsim is None
    whole = search(bench, session, QUERIES[0], 10)
    assert whole.read == CANDIDATES and len({hit.row for hit in whole.hits} & {hit.row for hit in early.hits}) >= 5
    np.testing.assert_allclose(
        early.hits[0].score, bench.registry.encoder().encode([QUERIES[0], early.hits[0].sentence]).prod(0).sum(), atol=1e-3
    )
    assert first_hits(bench, session, SearchOptions(QUERIES[0], ranking="words")) is None


def test_a_row_is_read_once_for_its_embedding_and_its_tokens(bench, unread, monkeypatch):
    read, own = [], tokens.own_token_vectors
    monkeypatch.setattr(tokens, "own_token_vectors", lambda encoder, texts, *rest: read.extend(texts) or own(encoder, texts, *rest))
    hits = search(bench, unread[0], QUERIES[0], 5).hits
    assert read == [QUERIES[0]] and all(hit.matches for hit in hits)


def test_copies_of_a_text_do_not_crowd_out_other_hits(bench, reading, texts):
    session, _, _ = reading(["I was charged two times."] * 300 + texts[:300])
    hits = search(bench, session, QUERIES[0], 10).hits
    assert len(hits) == 10 and hits[0].copies == 299 and session.corpus().growing.read <= CANDIDATES


def test_that_of_long_texts_only_the_beginning_is_read_so_far_is_told_and_no_hit_is_called_weak(bench, reading, texts):
    session, steps, _ = reading([*texts[:120], *(" ".join(texts[first : first + 40]) for first in (200, 300))])
    (caution,) = search(bench, session, QUERIES[0], 3).cautions
    told = "2 texts are longer than all-MiniLM-L6-v2 reads: "
    assert caution == f"{told}of such a text only the beginning is compared by meaning until the whole file is read."
    assert "longer than" not in corpus_view.card(session.corpus())  # beside the hits it would be said twice
    assert weak_below(bench, session) == -1
    list(steps)
    assert search(bench, session, QUERIES[0], 3).cautions == () and weak_below(bench, session) > 0


def test_what_needs_all_rows_waits_and_the_map_is_a_sketch(bench, reading, texts):
    session, steps, _ = reading(texts[:300])
    search(bench, session, QUERIES[0], 3)
    refusal = r"read \d+ of 300 rows, and this needs all of them"
    refused(refusal, draw, bench, session, ClusterOptions())
    refused(refusal, begin, bench, session)
    refused(refusal, why_not, bench, session, WhyNotOptions(QUERIES[0], "7"))
    sketch = preview(bench, session, DEFAULT_ENCODER)
    assert sketch.stage == SKETCH and np.isfinite(sketch.points).all() and not begins(session)
    assert session.corpus().calibration is None
    list(steps)
    assert begins(session)


def test_copies_and_texts_of_the_same_words_are_found_at_once_and_the_others_when_all_is_read(bench, reading, texts):
    others = [texts[3], texts[4].upper(), f"  {texts[5][:-1]}!", f"{texts[6]} Soon.", "...", "!!"]
    session, steps, _ = reading([*texts[:300], *others])
    *_, last = mine(bench, session)
    early, growing = findings_of(session, 0.8), session.corpus().growing
    assert last.result is session.get(Mined) and early.mined.early and growing.read == 4
    assert {(pair.row1, pair.row2) for pair in early.pairs()} == {(4, 301), (5, 302), (6, 303)}
    cosine = next(pair.score for pair in early.pairs() if pair.row1 == 5)
    one, other = bench.registry.encoder().encode([texts[4], texts[4].upper()])
    assert cosine == pytest.approx(float(one @ other), abs=1e-3)
    list(steps)
    *_, last = mine(bench, session)
    whole = findings_of(session, 0.8)
    assert not whole.mined.early and (7, 304) in {(pair.row1, pair.row2) for pair in whole.pairs()}


def test_what_was_judged_stays_when_the_index_is_whole_and_a_stop_leaves_what_was_read(bench, reading, texts):
    session, steps, _ = reading(texts[:300])
    judge(bench, session, QUERIES[0], 3, 2)
    step = next(step for step in steps if step.done > 100)
    session.stop(INDEXING)
    *_, step = steps
    assert step.stopped and search(bench, session, QUERIES[0], 3).read > 100
    assert judgements(session).of_query(QUERIES[0]) == {3: 2}
    *_, last = index(bench, session, ["text"])  # another reading of the same file is another corpus
    assert last.result is session.corpus() and last.skipped > 100


def test_another_corpus_that_is_opened_meanwhile_stays(bench, unread):
    session, steps = unread
    open_example(bench, session, "field_notes.csv")
    *_, last = steps
    assert last.stopped and session.corpus().corpus.name == "field_notes.csv"


def test_rows_that_were_read_teach_the_static_vectors(bench, unread):
    session, _ = unread
    growing, encoder, unknown = session.corpus().growing, bench.registry.encoder(), slice(500, 926)
    truth, queries = encoder.encode(growing.sentences[unknown]), encoder.encode(list(QUERIES))

    def agreement():
        """The mean correlation with the model's cosines, over rows that nothing was learned from."""
        pairs = ((growing.static.cosines(query)[unknown], truth @ query) for query in queries)
        return np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs])

    before = agreement()
    growing.fill(np.arange(LEARNED - 1))
    growing.learn()
    assert agreement() == before > 0.6  # too few rows
    growing.fill(np.arange(LEARNED))
    growing.learn()
    assert agreement() > before + 0.01


KNOWN = "river garden winter music doctor bridge kitchen letter school market island window summer engine forest".split()
INVENTED = [f"{start}{end}" for start in "glor vext brim snaf quol".split() for end in "pax ulm ink".split()]


@pytest.mark.parametrize(("words", "at_once"), [(KNOWN, True), (INVENTED, False)])
def test_where_most_words_come_with_the_app_the_others_are_read_once_the_corpus_is_open(reading, words, at_once):
    session, steps, step = reading([f"{one} {other} zzyzx" for one in words for other in words], WORDS)
    opened = session.get(IndexedCorpus)
    assert (opened is not None) is at_once and step.unit == ("sentences" if at_once else "words")
    before = opened and opened.growing.static.rows
    next(step for step in steps if step.stage == ENCODING)
    after = session.corpus().growing.static
    assert "zzyzx" in after.words and np.linalg.norm(after.rows, axis=1).min() > 0.99
    assert (not at_once or not np.array_equal(before, after.rows)) and not hasattr(after, "_weights")  # of the whole corpus


def test_where_all_words_come_with_the_app_nothing_is_left_to_read(reading):
    session, _, _ = reading([f"{one} {other}" for one in KNOWN for other in KNOWN])
    static = session.corpus().growing.static
    assert static.share == 1 and static.words == [] and static.rows.shape == (len(KNOWN) ** 2, 384)


def test_a_corpus_of_one_word_or_none_has_static_vectors(encoder):
    from sbert_app.corpus.ranking.lexical import LexicalIndex

    for sentences in (["word"] * 3, ["", "…"]):
        static = StaticVectors(LexicalIndex.build(sentences))
        static.place(encoder.encode(static.words))
        assert static.rows.shape == (len(sentences), encoder.dim) and np.isfinite(static.cosines(encoder.encode(["word"])[0])).all()


def test_the_shell_answers_before_it_has_read_the_file(shell, write):
    things = "printer phone modem lamp radio oven fan".split()
    lines = [f"Ticket {number}: the {thing} does not work" for number in range(300) for thing in things]
    file = str(write("many.txt", "\n".join(lines)))
    first = json.loads(shell("search", file, "--query", "the telephone is broken", "--json")[0])
    assert "phone" in first["hits"][0]["sentence"] and 0 < first["read"] <= CANDIDATES
    options = ("--query", "the telephone is broken", "--whole", "--hybrid", "--top", 3, "--json")
    whole = json.loads(shell("search", file, *options)[0])
    assert "phone" in whole["hits"][0]["sentence"] and "read" not in whole and len(whole["hits"]) == 3
    assert {"encode", "search"} <= set(whole["milliseconds"]) and {"row", "score", "bm25", "metadata"} <= set(whole["hits"][0])
