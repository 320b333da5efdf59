"""Why was it not found: hand-made cases, each with its true reason; ranks equal to those of Search."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from sbert_app.corpus.hits import MAXSIM
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS, IndexedCorpus
from sbert_app.corpus.ranking import missed as miss
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.runtime.examples import FOLDER
from sbert_app.tables import read_table
from tests.searching import explain as why_not
from tests.searching import indexed, search

KETTLE = "my kettle has white stuff inside"
URN = "Descale the tea urn or boiler with diluted citric acid once mineral deposits crust its element."
MOSS = "Moss takes over turf that is shaded, acidic and poorly drained; cure the cause before reseeding."
GUMS = "Gums that bleed when brushed are usually inflamed by plaque, so floss daily and visit a hygienist."
MINUTES = "The allotment society met and talked about compost bins once more. " * 60
LONG = f"{MINUTES}At the end a slide of a zeppelin hangar was shown."
WAYS = {DENSE: miss.MEANING, WORDS: miss.BM25, HYBRID: miss.TOGETHER, MAXSIM: miss.WORD_BY_WORD}


@pytest.fixture(scope="module")
def session(shared_bench, tmp_path_factory):
    """The household advice with a long row and a blank one: the service and the session."""
    path = tmp_path_factory.mktemp("corpus") / "advice.csv"
    with (FOLDER / "field_notes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [*rows, [LONG, "club", "any", "easy"], [" ", "club", "any", "easy"], ["The end.", "club", "", ""]]
        )
    session = indexed(shared_bench, read_table(path, shared_bench.settings.limits))
    session.put(replace(session.get(IndexedCorpus), passages=None))  # as an earlier version saved it: long texts are cut
    return session


CASES = {
    "a filter": ((KETTLE, URN, 10, {"topic": ["garden"], "season": "any"}), miss.FILTER),
    "a blank row": ((KETTLE, "452"), miss.SKIPPED),
    "cut text": (("zeppelin hangar", "451", 10, {}, DENSE), miss.CUT),
    "other words": (("quarterly revenue forecast", MOSS), miss.OTHER_WORDS),
    "other words, by words alone": ((KETTLE, URN, 10, {}, WORDS), miss.OTHER_WORDS),
    "a typo": (("hygeinist", GUMS), miss.TYPO),
    "stop words": (("how do I do this", MOSS), miss.STOP_WORDS),
    "a hit below those shown": (("dogs", "Bad breath in older dogs usually signals tartar", 1), miss.BEYOND),
    "a hit": ((KETTLE, f"  {URN.upper()} "), miss.HIT),
    # Without what the reason names, the row is found: these reasons are true.
    "a corrected typo": (("hygienist", GUMS), miss.HIT),
    "a lifted filter": ((KETTLE, URN, 10, {"season": "any"}), miss.HIT),
    "cut text, by its words": (("zeppelin hangar", "451", 10, {}, WORDS), miss.HIT),
    "a text that is not there": (("moss in the lawn", "Why is moss growing in my shady, badly drained lawn?"), miss.HIT),
}


@pytest.mark.parametrize("name", CASES)
def test_the_reason_is_the_true_one(shared_bench, session, name):
    arguments, reason = CASES[name]
    answer = why_not(shared_bench, session, *arguments)
    assert answer.reason == reason, answer
    assert answer.in_words.endswith((".", "!")) and "None" not in answer.in_words


def test_a_filter_is_named_with_the_rows_own_value_and_the_rank_without_it(shared_bench, session):
    answer = why_not(shared_bench, session, *CASES["a filter"][0])
    assert [(hiding.column, hiding.value) for hiding in answer.filters] == [("topic", "kitchen")] and answer.rank <= 10
    hidden = "Row 1 is hidden by a filter: topic: garden, but its topic is “kitchen”."
    assert answer.in_words == f"{hidden} Without it it would rank {answer.rank}."
    assert answer.rank == why_not(shared_bench, session, KETTLE, URN, 10, {"season": "any"}).rank  # the other filter stays
    unfiltered = search(shared_bench, session, KETTLE, 60).hits
    assert answer.of < len(session.corpus().corpus) and answer.rank <= next(hit.rank for hit in unfiltered if hit.sentence == URN)


def test_a_text_counts_once_as_among_the_hits(shared_bench):
    """Of its copies whichever is asked for, and those of better texts: the second text is the second hit."""
    session = indexed(shared_bench, [*[GUMS] * 12, MOSS, URN, GUMS, MOSS])
    for ranking in WAYS:
        hits = search(shared_bench, session, "bleeding gums, moss in turf", 10, {}, ranking).hits
        for row in (13, 15, 16):
            answer = why_not(shared_bench, session, "bleeding gums, moss in turf", str(row), 2, {}, ranking)
            assert (answer.rank, answer.of) == (next(hit.rank for hit in hits if hit.sentence == answer.sentence), 3)


def test_what_is_against_a_row_is_named(shared_bench, session):
    assert why_not(shared_bench, session, KETTLE, "452").in_words == "Row 452 was skipped when the file was read: blank sentence."
    cut = why_not(shared_bench, session, *CASES["cut text"][0])
    assert cut.words.beyond == ("zeppelin", "hangar") and cut.read < LONG.index("zeppelin") < cut.length == len(LONG)
    typo = why_not(shared_bench, session, *CASES["a typo"][0])
    assert typo.words.typos == {"hygeinist": "hygienist"}
    assert typo.in_words == f"The query seems to hold a typo: no row has the word “hygeinist” (row {typo.row} has “hygienist”)."
    known = why_not(shared_bench, session, "plague", GUMS)  # a word that the model knows, not "plaque"
    assert known.words.lacking == ("plague",) and known.words.typos == {}
    far = why_not(shared_bench, session, *CASES["other words"][0])
    assert far.words.lacking == ("quarterly", "revenue", "forecast") and far.cosine < far.weak
    closest = why_not(shared_bench, session, *CASES["a text that is not there"][0])
    assert not closest.in_corpus and closest.sentence == MOSS


@pytest.mark.parametrize("ranking", WAYS)
def test_ranks_are_those_of_search(session, shared_bench, ranking):
    for query, filters in ((KETTLE, {}), ("cold water", {"season": "any"}), ("The dog!", {})):
        hits = search(shared_bench, session, query, 60, filters, ranking).hits
        for hit in (hits[0], hits[-1], hits[len(hits) // 2]):
            answer = why_not(shared_bench, session, query, f"row {hit.row}", 60, filters, ranking)
            standing = next(each for each in answer.standings if each.way == WAYS[ranking])
            assert answer.reason == miss.HIT and answer.rank == standing.rank == hit.rank
            assert answer.standings[0].score == pytest.approx(hit.score, abs=1e-5)
            assert hit.maxsim is None or standing.score == pytest.approx(hit.maxsim, abs=1e-4)


def test_a_row_outside_the_lists_has_scores_and_says_why_it_has_no_rank(shared_bench, session):
    answer = why_not(shared_bench, session, "quarterly revenue forecast", MOSS)
    by_meaning, by_words, together, word_by_word = answer.standings
    assert by_meaning.rank > 100 and by_words.rank is None and by_words.note == "no word in common" and answer.rank is None
    assert together.rank is None and together.note == "not among the best 100 by meaning nor by words"
    assert word_by_word.rank is None and -1 < word_by_word.score < 1 and word_by_word.note == "not compared: only the best 50 are"


def test_an_approximate_index_that_missed_the_row_is_named(session, shared_bench):
    indexed = session.corpus()
    coarse = VectorIndex.build(indexed.embeddings, exact=False)
    coarse._index.reads = 1
    other = shared_bench.sessions.open()
    other.open(replace(indexed, index=coarse))
    vector = shared_bench.registry.encoder(indexed.model).encode([KETTLE])[0]
    best, returned = np.argsort(-(indexed.embeddings @ vector))[:30], coarse.search(vector[None], 100)[1][0]
    missed = int(next(row for row in best if row not in returned))
    answer = why_not(shared_bench, other, KETTLE, str(indexed.corpus.rows[missed]), 30, {}, DENSE)
    assert answer.reason == miss.APPROXIMATE and f"ranks {answer.standings[0].rank}" in answer.in_words
    assert why_not(shared_bench, session, KETTLE, str(indexed.corpus.rows[missed]), 30, {}, DENSE).reason == miss.HIT


def test_others_fit_better_where_nothing_else_is_wrong():
    words = miss.QueryWords(shared=("moss",), lacking=("sphagnum",))
    standings = (miss.Standing(miss.MEANING, 300, 0.3), miss.Standing(miss.BM25, 140, 2.0))
    answer = miss.Miss("q", 7, "Moss.", standings=standings, words=words, top=10, weak=0.2, read=5, length=5)
    assert answer.reason == miss.LOWER
    assert answer.in_words == "Row 7 has “moss” of the query and lacks “sphagnum”; at least 139 rows fit it better."


def test_the_end_of_a_long_text_is_searched_too_where_it_has_passages(shared_bench):
    session = indexed(shared_bench, [LONG, MOSS, URN])
    answer = why_not(shared_bench, session, "zeppelin hangar", "1", 10, {}, DENSE)
    assert answer.reason == miss.HIT and answer.rank == 1 and answer.read == len(LONG)
