"""Bringing a corpus and searching it: progress, stop, cache, bad requests, two visitors.

The number of hits counts texts: rows that repeat one are told on its hit, however many. All above a score are given.
"""

import csv
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sbert_app.corpus.hits import RANKINGS
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.jobs.corpus.job import INDEXING, index
from sbert_app.jobs.corpus.opening import delete_saved, open_example, open_saved, read_lines, saved_corpora
from sbert_app.jobs.search import job, ranked_hits
from sbert_app.jobs.search.open_corpus import first_query, offered, weak_below
from sbert_app.models.files.finding import NEW_POLY
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings
from sbert_app.tables import Table, read_table
from sbert_app.ui.search.view import hit_records
from sbert_app.wording import amount
from tests.jobs.refusals import refused
from tests.searching import brought, indexed, indexing, more_like, of_example, search

QUERIES = Path(__file__).parents[2] / "corpus" / "field_notes_queries.csv"


@pytest.fixture(scope="module")
def unknown(sentences):
    """Sentences whose embeddings do not come with the app."""
    return [f"{sentence} Please help." for sentence in sentences]


def test_indexing_reports_progress_up_to_a_searchable_corpus(bench, unknown):
    session, events = indexing(bench, unknown[:300])
    done = [event.done for event in events]
    assert done == sorted(done) and done[-1] == 300 and len(set(done)) > 3
    assert events[-1].result is session.get(IndexedCorpus) and events[-1].rate > 0
    hit = search(bench, session, unknown[17], 1).hits[0]
    assert (hit.sentence, hit.row, hit.rank) == (unknown[17], 18, 1) and hit.score > 0.99


def test_stopping_keeps_what_was_encoded_and_the_corpus_before(bench, unknown):
    session, _ = indexing(bench, ["the corpus before"])
    before = session.get(IndexedCorpus)
    brought(bench, unknown[:400], session)
    seen = []
    for event in index(bench, session, ["text"]):
        seen.append(event)
        if event.done > 100:
            session.stop(INDEXING)
    assert seen[-1].stopped and 100 < seen[-1].done < 400 and session.get(IndexedCorpus) is before
    again = list(index(bench, session, ["text"]))
    assert again[-1].skipped == seen[-1].done and session.get(IndexedCorpus) is not before


def test_meaning_is_found_where_no_word_overlaps_and_scores_higher_than_weak_hits(shared_bench):
    session = of_example(shared_bench, "field_notes.csv")
    with QUERIES.open(encoding="utf-8", newline="") as file:
        wanted = {row["query"]: row["expected_text"] for row in csv.DictReader(file)}
    ranks, weak = [], weak_below(shared_bench, session)
    for query, text in wanted.items():
        for hit in search(shared_bench, session, query, 10).hits:
            if hit.sentence == text:
                ranks.append(hit.rank)
                assert hit.score > weak
    assert len(wanted) == 40 and sum(rank <= 3 for rank in ranks) >= 38
    assert search(shared_bench, session, "quantum chromodynamics of gluons", 1).hits[0].score < weak < 0.5


def test_a_poly_encoder_re_ranks_by_its_own_scores(bench):
    session, _ = indexing(bench, ["A parcel came late.", "The delivery is delayed.", "My card is lost."])
    query = "late delivery"
    hits = search(bench, session, query, cross_encoder=NEW_POLY).hits
    expected = bench.registry.pair_scorer(NEW_POLY).score([(query, hit.sentence) for hit in hits])
    assert [hit.cross_score for hit in hits] == pytest.approx(expected, abs=1e-5) and len(hits) == 3
    assert sorted(expected, reverse=True) == list(expected) and hits[2].sentence == "My card is lost."


def test_metadata_comes_with_the_hits_and_filters_them(shared_bench):
    session = of_example(shared_bench, "support_tickets.csv")
    choices = offered(shared_bench, session)
    columns = {column.name: column for column in choices.columns}
    assert list(columns) == ["product", "priority", "team", "date", "text"]
    assert columns["date"].ends == ("2026-01-05", "2026-10-30") and sum(columns["date"].bars) == 926
    beacon = {"product": ["Beacon"]}
    fitting = search(shared_bench, session, "the app crashes", 20, beacon).fitting
    assert (("Beacon",), fitting) in columns["product"].values and 20 < fitting < 926
    hits = search(shared_bench, session, "the app crashes", 20, beacon | {"date": {"from": "2026-06"}}).hits
    assert len(hits) == 20 and all(h.metadata["product"] == "Beacon" and h.metadata["date"] >= "2026-06" for h in hits)
    assert search(shared_bench, session, "x", 5, {"product": ["None such"]}).hits == []


@pytest.mark.parametrize("stage", ["Encoding", "Building the index"])
def test_a_corpus_opened_meanwhile_stays_and_ends_the_indexing(bench, unknown, stage):
    session = brought(bench, unknown[:100])
    for event in index(bench, session, ["text"]):
        if event.stage == stage and session.get(IndexedCorpus) is None:
            open_example(bench, session, "field_notes.csv")
    assert event.stopped and event.result is None
    assert session.get(IndexedCorpus).corpus.name == "field_notes.csv" and session.get(Table) is None


def test_a_new_start_does_not_revive_what_was_stopped(bench, unknown):
    session = brought(bench, unknown[:100])
    first, second = index(bench, session, ["text"]), index(bench, session, ["text"])
    next(first)
    session.stop(INDEXING)
    next(second)
    assert [event.stage for event in first][-1] == "Stopped"
    assert list(second)[-1].result is session.get(IndexedCorpus)


def test_a_file_named_like_an_example_is_asked_nothing(bench, write):
    session = bench.sessions.open()
    session.put(read_table(write("support_tickets.csv", "text\nfirst\nsecond\n"), bench.settings.limits))
    list(index(bench, session, ["text"]))
    first = "charged two times for the same thing"
    assert first_query(bench, session, "") == "" and first_query(bench, session, first) == ""
    open_example(bench, session, "support_tickets.csv")
    assert first_query(bench, session, "") == first == first_query(bench, session, "my kettle has white stuff inside")
    assert first_query(bench, session, "typed") == "typed"


def test_a_small_corpus_of_one_row_and_of_equal_rows(bench):
    session, _ = indexing(bench, ["one", "two", "three"])
    assert sorted(hit.row for hit in search(bench, session, "number", 50).hits) == [1, 2, 3]
    for lines in (["only"], ["same"] * 50):
        session, events = indexing(bench, lines)
        (hit,) = search(bench, session, "same", 10).hits
        assert hit.copies == len(lines) - 1
    assert "49 rows repeat" in events[-1].result.corpus.notes[0]


def test_bad_requests_are_told_and_leave_the_corpus_before_in_place(bench):
    session = bench.sessions.open()
    refused("no corpus yet. Choose an example or upload a file", search, bench, session, "x")
    refused("nothing to index yet", index, bench, session, ["text"])
    refused("There is no example 'passwd'", open_example, bench, session, "passwd")
    session, _ = indexing(bench, ["a", "b"])
    before = session.get(IndexedCorpus)
    refused("There are no lines yet. Type or paste one sentence per line", read_lines, " \n ", bench.settings.limits)
    for call in (lambda: open_saved(bench, session, ""), lambda: delete_saved(bench, "")):
        refused("Choose a saved corpus first", call)
    for row in (0, 99, None, "1; drop", [1, 2], True):
        refused(r"The row must be a whole number in 1..2", more_like, bench, session, row)
    for columns in ("text", None, [1], {"text": 1}):
        with pytest.raises(UserError, match="The sentence columns must be a list of names"):
            session.put(read_lines("a", bench.settings.limits))
            list(index(bench, session, columns))
    for model in (None, 5, ["x"]):
        refused("The model must be given by its name", index, bench, session, ["text"], model)
    refused("no column 'nope'", index, bench, session, ["nope"])
    assert session.get(IndexedCorpus) is before
    session.put(replace(before, fingerprint="another"))
    refused("has changed since this corpus was indexed. Index it again", search, bench, session, "a")


INDEX_FOR_EVER = """
import sys
from pathlib import Path
from sbert_app.jobs.corpus.job import index
from sbert_app.jobs.corpus.opening import read_lines
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings
bench = Workbench(Settings(home=Path(sys.argv[1]), device="cpu"))
session = bench.sessions.open()
session.put(read_lines("\\n".join(f"sentence {i} of many" for i in range(20_000)), bench.settings.limits))
for event in index(bench, session, ["text"]):
    print(event.done, flush=True)
"""


def test_a_killed_process_leaves_nothing_half_written(bench):
    command = [sys.executable, "-c", INDEX_FOR_EVER, str(bench.settings.home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=QUERIES.parents[2]) as process:
        while int(process.stdout.readline()) < 300:
            pass
        process.kill()
    assert saved_corpora(bench) == []
    _, events = indexing(bench, [f"sentence {i} of many" for i in range(50)])
    assert events[-1].stage == "Indexed" and len(saved_corpora(bench)) == 1


def test_a_full_disk_costs_the_saving_not_the_search(bench, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    session, events = indexing(bench, ["a", "b"])
    assert events[-1].notes == ("Ready to search, but not saved for next time: No space left on device.",)
    assert len(search(bench, session, "a").hits) == 2


def test_hosted_mode_leaves_nothing_on_disk(tmp_path, unknown):
    hosted = Workbench(Settings(home=tmp_path / "home", device="cpu", hosted=True))
    session, events = indexing(hosted, unknown[:30])
    assert events[-1].skipped == 0 and indexing(hosted, unknown[:30])[1][-1].skipped == 0
    assert not (tmp_path / "home").exists()
    assert saved_corpora(hosted) == []
    for call in (lambda: open_saved(hosted, session, "x"), lambda: delete_saved(hosted, "x")):
        refused("A hosted app saves no corpora", call)


def test_two_visitors_at_once_see_their_own_corpus_only(bench):
    lines = [[f"apple pie recipe {i}" for i in range(150)], [f"bicycle chain repair {i}" for i in range(150)]]

    def visit(own):
        session, _ = indexing(bench, own)
        for _ in range(5):
            hits = search(bench, session, "apple or bicycle", 20).hits
            assert {hit.sentence.split()[0] for hit in hits} == {own[0].split()[0]}
        return session.id

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(visit, lines)
    assert one != other


def test_waiting_for_others_is_told_and_not_counted(shared_bench, hand_clock, monkeypatch):
    @contextmanager
    def held_by_others(short=False):
        hand_clock.sleep(0.3)
        yield 0.3

    session = of_example(shared_bench, "support_tickets.csv")
    assert ranked_hits.WAITED not in search(shared_bench, session, "refund").milliseconds
    monkeypatch.setattr(ranked_hits, "time", hand_clock)
    monkeypatch.setattr(shared_bench.device, "hold", held_by_others)
    stages = search(shared_bench, session, "refund").milliseconds
    assert stages[ranked_hits.WAITED] == 300 and stages["encode"] == pytest.approx(0, abs=1e-6)


TOPICS = "refund parcel password invoice printer keyboard battery screen".split()


@pytest.fixture(scope="module")
def searched(shared_bench):
    """Eight texts of a column, the first of them in 90 rows, the others in five."""
    return indexed(shared_bench, [f"Please help with my {topic}" for topic in [TOPICS[0]] * 89 + TOPICS * 5])


@pytest.mark.parametrize("ranking", RANKINGS)
def test_so_many_texts_are_found_as_are_asked_for_though_rows_repeat(shared_bench, searched, ranking):
    hits = search(shared_bench, searched, "help with a refund please", 6, ranking=ranking).hits
    assert len({hit.sentence for hit in hits}) == len(hits) == 6 and [hit.rank for hit in hits] == [1, 2, 3, 4, 5, 6]
    assert hits[0].sentence.endswith("refund") and hits[0].copies == 93
    assert len({hits[0].row, *hits[0].copy_rows}) == 11
    assert [hit.copies for hit in hits[1:]] == [4] * 5


def test_copies_and_all_above_a_cosine_are_counted_among_the_rows_that_fit_the_filters(shared_bench, write, monkeypatch):
    """24 rows of four texts, each twice in every one of three teams."""
    path = write("a.csv", "text,team\n" + "".join(f"Please help with my {TOPICS[i % 4]},{i % 3}\n" for i in range(24)))
    in_teams = indexed(shared_bench, read_table(path, shared_bench.settings.limits))
    all_above = job.SearchOptions("refund", filters={"team": "0"}, least=-1.0)
    for result in (search(shared_bench, in_teams, "refund", 10, {"team": "0"}), job.search(shared_bench, in_teams, all_above)):
        assert [hit.copies for hit in result.hits] == [1, 1, 1, 1]
        saved = [record for hit in result.hits for record in hit_records(hit, result.repeats[hit.row])]
        assert sorted(record["row"] for record in saved) == list(range(1, 25, 3))
        assert {record["team"] for record in saved} == {"0"}
    monkeypatch.setattr(ranked_hits, "MOST_ROWS", 7)
    refused("8 rows have a cosine of at least -1, more than the 7", job.search, shared_bench, in_teams, all_above)


def test_a_text_in_very_many_rows_is_saved_in_the_first_of_them(shared_bench, searched, monkeypatch):
    monkeypatch.setattr(ranked_hits, "MOST_REPEATS", 95)
    result = search(shared_bench, searched, "help with a refund please", 6)
    assert [len(repeats) for repeats in result.repeats.values()] == [93, 2] and result.hits[0].row in result.repeats


def test_above_a_cosine_is_every_row_that_has_it(shared_bench, searched, monkeypatch):
    monkeypatch.setattr(ranked_hits, "MOST_REPEATS", 1)  # what holds for the best hits
    indexed, query = searched.corpus(), "help with a refund please"
    vector, _ = ranked_hits.encode_query(shared_bench.device, query, shared_bench.registry.encoder())
    cosines = indexed.embeddings @ vector
    different = np.unique(cosines.round(4))
    for least in (-1.0, *((different[1:] + different[:-1]) / 2).tolist(), 1.0):
        result = job.search(shared_bench, searched, job.SearchOptions(query, top=1, least=least))
        rows = [record["row"] for hit in result.hits for record in hit_records(hit, result.repeats.get(hit.row, ()))]
        assert sorted(rows) == (indexed.corpus.rows[cosines >= least]).tolist()
        assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)
        texts = f"{amount(len(result.hits), 'text')} in {len(rows)} rows" if rows else "0"
        assert result.counted(least) == f"{texts} of 129 have a cosine of at least {least:g} with “{query}”."


@pytest.mark.parametrize("other", [{"rerank": True}, {"hybrid": True}, {"ranking": "words"}])
def test_a_least_cosine_goes_with_no_other_ranking(shared_bench, searched, other):
    refused("leave the other out", job.search, shared_bench, searched, job.SearchOptions("refund", least=0.5, **other))
