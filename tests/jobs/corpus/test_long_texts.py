"""Texts longer than the model reads, with the real small model: found by what stands at their end."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sbert_app.corpus.hits import MAXSIM, Indexing
from sbert_app.corpus.indexed import DENSE, HYBRID, IndexedCorpus
from sbert_app.jobs.corpus.job import INDEXING, index
from sbert_app.jobs.corpus.opening import open_saved
from sbert_app.jobs.declaring.job import Call, outcome_of
from sbert_app.jobs.duplicates.job import DUPLICATES, DuplicatesOptions
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.tables import read_table
from sbert_app.ui.corpus import view as corpus_view
from sbert_app.ui.search import view as search_view
from tests.searching import brought, explain, indexed, indexing, more_like, search

ANSWER = "The key of the boat house hangs behind the blue door of the boiler room."
QUERY = "where can I find the key to the boat house"


@pytest.fixture(scope="module")
def long_text(sentences):
    """3,000 words, the answer last."""
    words = " ".join(sentence.rstrip(".!?") + "." for sentence in sentences).split()[: 3_000 - len(ANSWER.split())]
    return " ".join([*words[:-1], "end.", ANSWER])


@pytest.fixture(scope="module")
def lines(sentences, long_text):
    return [*sentences[700:730], long_text, *sentences[730:761]]


@pytest.fixture(scope="module")
def session(shared_bench, lines):
    return indexed(shared_bench, lines)


@pytest.mark.parametrize("ranking", [DENSE, HYBRID, MAXSIM])
def test_the_answer_at_the_end_of_3000_words_is_found(shared_bench, session, long_text, ranking):
    assert len(long_text.split()) == 3_000
    hit = search(shared_bench, session, QUERY, 3, ranking=ranking).hits[0]
    assert (hit.row, hit.sentence) == (31, long_text) and hit.score > 0.3
    passage = hit.sentence[slice(*hit.passage)]
    assert passage.endswith(ANSWER) and hit.compared.endswith(passage) and len(passage) < 400
    assert len(passage) < len(hit.compared) < 1_500  # with the passages before it


def test_what_matched_is_told_in_characters_of_the_whole_text(shared_bench, session, long_text):
    hit = search(shared_bench, session, QUERY, 1, ranking=MAXSIM).hits[0]
    assert long_text[slice(*hit.best)] == ANSWER
    assert {match.query_word: match.word for match in hit.matches}.items() >= {"key": "key", "boat": "boat"}.items()
    for match in hit.matches:
        assert long_text[match.start : match.end] == match.word and hit.passage[0] <= match.start < hit.passage[1]


def test_a_folded_hit_begins_with_its_passage(shared_bench, session):
    for ranking in (DENSE, MAXSIM):
        result = search(shared_bench, session, QUERY, 1, ranking=ranking)
        page, hit = search_view.results(result), result.hits[0]
        excerpt = page[page.index('class="excerpt"') :].split("</p>")[0].striptags()
        start, _ = hit.best or hit.passage
        assert f"… {hit.sentence[start:][:40]}" in excerpt and start > len(hit.sentence) - 200


def test_a_hit_has_the_cosine_of_its_passage_and_is_saved_with_it(shared_bench, session):
    result = search(shared_bench, session, QUERY, 3, ranking=DENSE)
    hit, passage = result.hits[0], result.hits[0].sentence[slice(*result.hits[0].passage)]
    query, vector = shared_bench.registry.encoder().encode([QUERY, passage])
    assert hit.score == pytest.approx(float(query @ vector), abs=2e-3)
    assert search_view.OF_PASSAGES in search_view.results(result)
    assert session.get(IndexedCorpus).cosines(query, np.array([30]))[0][0] == pytest.approx(hit.score, abs=2e-3)
    assert explain(shared_bench, session, QUERY, "31").cosine == pytest.approx(hit.score, abs=1e-6)
    saved = [next(search_view.hit_records(replace(hit, metadata={"passage": "p. 3"}))) for hit in result.hits]
    assert saved[0]["passage"] == passage and [record["passage_"] for record in saved] == ["p. 3"] * 3
    assert "passage" not in saved[1]


def test_duplicates_tell_that_only_beginnings_were_compared(shared_bench, long_text, sentences):
    session = indexed(shared_bench, [*sentences[700:710], long_text, f"{long_text} The end is another."])
    found = outcome_of(DUPLICATES.steps(Call(shared_bench, session=session), DuplicatesOptions()))
    told = "2 texts are longer than all-MiniLM-L6-v2 reads: of such a text only the beginning is compared."
    assert found.summary["redundant"] == 1 and found.lines[0] in found.summary["cautions"]
    assert [caution[: len(told)] for caution in found.summary["cautions"]] == [told]


def test_token_vectors_of_a_row_and_of_its_passages_are_not_mixed_up(shared_bench, session, long_text):
    first = " ".join(long_text.split()[:12])
    for query, number in ((QUERY, -1), (first, 0), (QUERY, -1)):
        hit = search(shared_bench, session, query, 1, ranking=MAXSIM).hits[0]
        assert hit.row == 31 and list(hit.passage) == session.get(IndexedCorpus).passages.spans.tolist()[number]
        assert max(match.similarity for match in hit.matches) > 0.6


def test_more_like_a_long_text_leaves_it_out_with_all_its_passages(shared_bench, session, lines):
    for ranking in (DENSE, MAXSIM):
        hits = more_like(shared_bench, session, 31, len(lines), ranking=ranking).hits
        assert len(hits) == len(lines) - 1 and 31 not in [hit.row for hit in hits]


def test_more_like_a_passage_is_like_the_passage_on_the_card(shared_bench, session, long_text):
    found = search(shared_bench, session, QUERY, 1)
    start, end = found.hits[0].passage
    assert f'data-row="31" data-passage="{start}"' in search_view.results(found)
    like, first = (more_like(shared_bench, session, 31, 3, passage=passage) for passage in (start, 1))
    assert like.query == long_text[start:end] and first.query == long_text and 31 not in [hit.row for hit in like.hits]
    passage, row = shared_bench.registry.encoder().encode([like.query, like.hits[0].sentence])
    assert like.hits[0].score == pytest.approx(float(passage @ row), abs=2e-3)


def test_filters_and_the_cross_encoder_read_the_passage(shared_bench, lines, write):
    rows = pd.DataFrame({"text": lines, "odd": np.arange(len(lines)) % 2})
    session = indexed(shared_bench, read_table(write("long.csv", rows.to_csv(index=False)), shared_bench.settings.limits))
    for ranking in (DENSE, MAXSIM):
        hit = search(shared_bench, session, QUERY, 1, {"odd": "0"}, ranking).hits[0]
        assert hit.row == 31 and hit.compared.endswith(ANSWER)
        assert 31 not in [hit.row for hit in search(shared_bench, session, QUERY, 40, {"odd": "1"}, ranking).hits]
    reranked = search(shared_bench, session, QUERY, 5, cross_encoder=DEFAULT_CROSS_ENCODER).hits
    hit = next(hit for hit in reranked if hit.row == 31)
    scorer = shared_bench.registry.pair_scorer(DEFAULT_CROSS_ENCODER)
    assert hit.cross_score == pytest.approx(float(scorer.score([(QUERY, hit.compared)])[0]), abs=1e-4)


def test_indexing_tells_rows_and_passages_which_are_cached_saved_and_reopened(bench, lines):
    session, events = indexing(bench, lines)
    indexed = session.get(IndexedCorpus)
    count = len(indexed.passages)
    assert indexed.truncated == 1 and set(indexed.passages.rows.tolist()) == {30} and 50 < count < 250
    assert len(indexed.embeddings) == len(lines) and len(indexed.index.search(indexed.embeddings[:1], 99)[1][0]) == len(lines)
    last = events[-1]
    assert (last.done, last.total) == (len(lines) + count, len(lines) + count)
    assert f"of {last.total} sentences and passages" in corpus_view.progress(events[-2], "pasted")
    card = corpus_view.card(indexed, session.get(Indexing))
    assert f"{len(lines)} sentences and {count} passages" in card
    assert f"1 text is longer than all-MiniLM-L6-v2 reads. Search reads all of it, in {count} passages" in card
    total = last.total
    session, events = indexing(bench, lines)
    assert (events[-1].stage, events[-1].skipped, events[-1].total) == ("Opened", total, total)
    assert search(bench, session, QUERY, 1).hits[0].compared.endswith(ANSWER)
    _, events = indexing(bench, [*lines, "one new sentence"])
    assert (events[-1].stage, events[-1].skipped, events[-1].total) == ("Indexed", total, total + 1)


def test_a_corpus_saved_without_passages_is_searched_by_beginnings_and_says_so(bench, session):
    older = bench.sessions.open()
    open_saved(bench, older, bench.library.save(replace(session.get(IndexedCorpus), passages=None, saved_id="")))
    hits = search(bench, older, QUERY, 3, ranking=DENSE).hits
    assert len(hits) == 3 and not any(hit.passage for hit in hits)
    assert "only the beginning is compared by meaning. Index the file again" in corpus_view.card(older.get(IndexedCorpus))


def test_stopping_while_texts_are_cut_encodes_nothing(bench, lines):
    session = brought(bench, lines)
    events = []
    for event in index(bench, session, ["text"]):
        events.append(event)
        if event.stage == "Loading the model":
            session.stop(INDEXING)
    assert events[-1].stopped and [event.stage for event in events] == ["Loading the model", "Stopped"]


def test_a_corpus_of_short_texts_has_no_passages(bench, sentences):
    session, events = indexing(bench, sentences[:40])
    indexed = session.get(IndexedCorpus)
    assert indexed.passages is None and indexed.truncated == 0 and events[-1].total == 40
    assert not (bench.library.folder / indexed.saved_id / "passages").exists()
    assert "sentences ·" in corpus_view.card(indexed, events[-1])
