"""A collection in Milvus finds what brute force finds, filters as tables are filtered, and says what is wrong."""

import base64
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")

import grpc
from hypothesis import given
from hypothesis import strategies as st
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.db import MilvusLite
from pymilvus.grpc_gen import milvus_pb2_grpc

from sbert_app.collections import create_collection, open_collection
from sbert_app.collections.collection import (
    EMBEDDING,
    FILE_BITS,
    METADATA,
    ROW,
    SENTENCE,
    CollectionError,
    Facts,
    embedding_column,
    embeddings_of,
)
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF
from sbert_app.corpus.filters import matching_rows
from sbert_app.corpus.values import read
from sbert_app.errors import UserError
from sbert_app.vectors import unit_rows
from tests.mixed_columns import COLUMNS as MIXED
from tests.mixed_columns import EXPECTED

DIM, ROWS, FILES = 32, 2_000, 3
TEAMS = (
    "Billing", "billing", "BILLING", "", " ", 'say "hi"', "100%", "100 %", "a_b", "aXb", "a\\b", "a\\_b", "\\", "'", "Größe",
    "GRÖẞE", "größe", "İstanbul", "istanbul", "ΟΔΟΣ", "οδος", "οδοσ", "Kelvin", "\u212aelvin", "one\ntwo", "tab\there", "\r",
    "日本語", "🙂 ok", '"] or row > 0 or c0 in ["', "null", "true", "1",
)  # fmt: skip
AMOUNTS = ("1", "2.5", "-3", "1e3", "n/a", "", "inf", "-inf", "nan", "0.1", "1000000000000")
DAYS = ("2026-01-01", "2026-02-28", "2025-12-31", "", "soon", "2026-02-28T23:59:59")
COLUMNS = ("team", 'row" or row > 0 or "', "sentence", "größe", "amount", "day")
FACTS = Facts(
    "tiny", "abc", DIM, "text", COLUMNS, {"amount": "number, decimal point", "day": "date"}, tuple(f"{i}.csv" for i in range(FILES))
)


def some_rows(seed=0, count=ROWS):
    """Rows with clustered unit embeddings; their numbers in the files have gaps."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(40, DIM))
    embeddings = unit_rows(np.float32(centres[draw.integers(0, 40, count)] + 0.4 * draw.normal(size=(count, DIM))))
    ids = [(place % FILES << FILE_BITS) + 2 * (place // FILES) + 1 for place in range(count)]
    cells = {column: list(draw.choice(TEAMS, count)) for column in COLUMNS[:4]}
    cells |= {"amount": list(draw.choice(AMOUNTS, count)), "day": list(draw.choice(DAYS, count))}
    sentences = [f"Sentence {place} about {team}" for place, team in enumerate(cells["team"])]
    columns = {METADATA + column: values for column, values in cells.items()}
    return pa.Table.from_pydict(
        {ROW: ids, SENTENCE: sentences, **columns, EMBEDDING: embedding_column(embeddings)}, schema=FACTS.schema
    )


TABLE = some_rows()
IDS, EMBEDDINGS = TABLE.column(ROW).to_numpy(), unit_rows(embeddings_of(TABLE))
QUERIES = unit_rows(EMBEDDINGS[:500] + 0.05 * np.random.default_rng(1).normal(size=(500, DIM)).astype(np.float32))


@contextmanager
def refused(words, seconds=5):
    """What is done in here ends soon, with these words."""
    started = time.monotonic()
    with pytest.raises(CollectionError, match=words) as error:
        yield error
    assert time.monotonic() - started < seconds


def brute_force(queries, top, mask=None):
    """Cosines and ids of the closest rows, computed by numpy."""
    cosines = queries @ embeddings_of(TABLE).T
    cosines = cosines if mask is None else np.where(mask, cosines, -np.inf)
    order = np.argsort(-cosines, axis=1)[:, :top]
    return np.take_along_axis(cosines, order, axis=1), IDS[order]


def recall(rows, truth):
    return np.mean([len(set(own) & set(best)) / len(best) for own, best in zip(rows.tolist(), truth.tolist(), strict=True)])


def stored(address, rows=TABLE, facts=FACTS):
    """A new collection of these rows."""
    made = create_collection(address, facts)
    made.upsert(rows)
    made.finish(facts)
    return made


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """All rows in milvus-lite, with an exact index. Only for tests that change nothing."""
    opened = stored(f"{tmp_path_factory.mktemp('milvus')}/store.db/rows")
    yield opened
    opened.close()


@pytest.fixture
def small(tmp_path):
    opened = stored(f"{tmp_path}/store.db/rows", TABLE.slice(0, 30))
    yield opened
    opened.close()


def test_an_exact_index_finds_what_brute_force_finds(collection):
    cosines, rows = collection.search(QUERIES, 10)
    true_cosines, true_rows = brute_force(QUERIES, 10)
    np.testing.assert_array_equal(rows, true_rows)
    np.testing.assert_allclose(cosines, np.clip(true_cosines, -1, 1), atol=1e-5)


def test_other_indexes_find_nearly_all_of_it_with_exact_cosines(tmp_path):
    opened = create_collection(f"{tmp_path}/store.db/rows", FACTS)
    opened.upsert(TABLE)
    truth, wanted = brute_force(QUERIES, 10)[1], {"team": ["Billing", "billing", "1"]}
    mask = matching_rows(FACTS.cells(TABLE, FACTS.filterable), wanted).mask
    for kind, name, params in ((IVF, "IVF_SQ8", {"nlist": 45}), (HNSW, "HNSW", {"M": 16, "efConstruction": 200})):
        opened.finish(replace(FACTS, index=kind))
        described = opened._connection.call("", lambda client: client.describe_index("rows", EMBEDDING))
        assert described["index_type"] == name and described["params"] == params
        cosines, rows = opened.search(QUERIES, 10)
        assert recall(rows, truth) >= 0.995
        np.testing.assert_allclose(cosines[:, 0], np.clip(brute_force(QUERIES, 1)[0][:, 0], -1, 1), atol=1e-5)
        assert recall(opened.search(QUERIES[:50], 10, wanted)[1], brute_force(QUERIES[:50], 10, mask)[1]) >= 0.98
        assert opened.facts.index == kind
    opened.close()
    again = open_collection(f"{tmp_path}/store.db/rows")
    assert again.facts.index == HNSW and recall(again.search(QUERIES[:50], 10)[1], truth[:50]) >= 0.98
    again.close()


INJECTION = '"] or row > 0 or c0 in ["'
PARTS = ("BILL", "%", "_", "\\", "\\_", '"', "'", "\n", "grösse", "RÖß", "ΔΟΣ", "i", "k", "日", INJECTION)
AMOUNT_RANGES = ({"from": "0.1", "to": "2.5"}, {"from": "1000"}, {"to": "-3"}, {"from": "inf"})
FILTERS = [
    *({"team": team} for team in ("Billing", ["", " "], [], [INJECTION, "\\", "\r", "one\ntwo", "'"])),
    *({"team": {"contains": part}} for part in PARTS),
    {'row" or row > 0 or "': "Billing", "sentence": {"contains": "A"}},
    {"größe": "1", "team": {"contains": "l"}},
    *({"text": text} for text in ({"contains": "SENTENCE 1"}, "Sentence 7 about " + TABLE.column(METADATA + "team")[7].as_py())),
    *({"amount": amounts} for amounts in (*AMOUNT_RANGES, {"from": "-1e5", "to": "1e5", "contains": "."})),
    *({"day": days} for days in ({"from": "2026-01", "to": "2026-02"}, {"to": "2026-02-28"}, {})),
]


def assert_rows_as_of_a_table(opened, filters, table=TABLE):
    """These filters leave the rows that they would leave of the table."""
    mask = matching_rows(FACTS.cells(table, FACTS.filterable), filters).mask
    rows = opened.search(EMBEDDINGS[:1], ROWS, filters)[1][0]
    assert sorted(rows[rows >= 0]) == sorted(table.column(ROW).to_numpy()[mask])


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_leave_the_rows_that_tables_would_keep(collection, filters):
    assert_rows_as_of_a_table(collection, filters)


@given(st.text(alphabet=st.sampled_from(sorted({*"".join(TEAMS), *"aA%_\\ßẞſsΣςσK"})), min_size=1, max_size=3))
def test_whatever_is_typed_leaves_the_rows_that_tables_would_keep(collection, part):
    for filters in ({"team": {"contains": part}}, {"team": part}):
        assert_rows_as_of_a_table(collection, filters)


def test_filters_that_do_not_fit_are_the_same_mistakes_as_elsewhere(collection):
    with pytest.raises(UserError, match="no column 'none'"):
        collection.search(QUERIES[:1], 5, {"none": "x"})
    with pytest.raises(UserError, match="neither numbers nor dates"):
        collection.search(QUERIES[:1], 5, {"team": {"from": "1"}})


def test_rows_are_fetched_in_the_order_asked_for(collection):
    ids = [int(IDS[7]), 2, int(IDS[3]), int(IDS[7])]
    rows = collection.fetch(ids)
    assert rows.schema == FACTS.schema and rows.equals(TABLE.take([7, 3, 7]))
    assert collection.fetch([]).equals(TABLE.slice(0, 0))


def test_a_scan_gives_all_rows_by_their_ids(collection):
    parts = list(collection.scan(batch=700))
    assert [len(part) for part in parts] == [700, 700, 600]
    assert pa.concat_tables(parts).equals(TABLE.sort_by(ROW).combine_chunks())


def test_a_sample_is_random_and_covers_all_files(collection):
    rows = collection.sample(600)
    assert len(set(rows.tolist())) == 600 and set(rows.tolist()) <= set(IDS.tolist()) and (np.diff(rows) > 0).all()
    assert np.bincount(rows >> FILE_BITS, minlength=FILES).min() > 150
    numbers = rows & (1 << FILE_BITS) - 1
    assert 550 < numbers.mean() < 780 and numbers.max() > 1270  # all are odd, up to 1333
    np.testing.assert_array_equal(rows, collection.sample(600))
    assert sorted(collection.sample(5 * ROWS)) == sorted(IDS)


def test_a_search_pads_what_it_does_not_find(small):
    cosines, rows = small.search(QUERIES[:2], 40)
    assert cosines.shape == rows.shape == (2, 40)
    assert (rows[:, :30] >= 0).all() and (rows[:, 30:] == -1).all() and (cosines[:, 30:] == -1).all()
    assert small.search(QUERIES[:2], 0)[1].shape == (2, 0) and small.search(QUERIES[:0], 3)[1].shape == (0, 3)


def test_a_row_written_twice_is_there_once_as_it_is_now(small):
    row = TABLE.slice(0, 1).to_pylist()[0]
    versions = [row | {METADATA + "team": team, METADATA + "amount": amount} for team, amount in (("Old", "5"), ("new", "n/a"))]
    for version in versions:  # another case, another scale: nothing of the old row may be left
        small.upsert(pa.Table.from_pylist([version], schema=FACTS.schema))
    small.upsert(pa.Table.from_pylist(versions[:1] * 2 + versions[1:], schema=FACTS.schema))
    small.upsert(TABLE.slice(10, 20))
    small.finish(FACTS)
    assert small.count() == 30
    assert small.fetch([row[ROW]]).to_pylist()[0][METADATA + "team"] == "new"
    for filters in ({"team": {"contains": "old"}}, {"amount": {"from": "5", "to": "5"}}):
        assert row[ROW] not in small.search(EMBEDDINGS[:1], 30, filters)[1]


def test_rows_of_a_file_that_became_shorter_are_forgotten(small):
    small.trim(1, 5)
    small.finish(FACTS)
    left = [row for row in IDS[:30].tolist() if FACTS.place(row) <= ("1.csv", 5) or row >> FILE_BITS != 1]
    assert small.count() == len(left) < 30
    assert sorted(row for part in small.scan() for row in part.column(ROW).to_pylist()) == sorted(left)


def test_more_columns_and_longer_texts_than_milvus_takes_are_written(tmp_path):
    columns = tuple(f"column {place}" for place in range(200))
    facts = replace(FACTS, columns=columns, scales={})
    cells = {METADATA + column: ["ü€" * 500] for column in columns}
    rows = {ROW: [1], SENTENCE: ["€" * 30_000], **cells, EMBEDDING: embedding_column(EMBEDDINGS[:1])}
    opened = create_collection(f"{tmp_path}/store.db/wide", facts)
    opened.upsert(pa.Table.from_pydict(rows, schema=facts.schema))
    assert opened.search(EMBEDDINGS[:1], 5, {"column 199": {"contains": "Ü€ü"}})[1].tolist() == [[1, -1, -1, -1, -1]]
    opened.close()


def test_another_model_is_refused_with_both_lengths(small):
    with pytest.raises(CollectionError, match=r"of 32 numbers, by tiny; these have 16"):
        small.search(np.ones((1, 16), np.float32), 5)
    other = replace(FACTS, dim=16)
    rows = {ROW: [1], EMBEDDING: embedding_column(np.ones((1, 16), np.float32))}
    with pytest.raises(CollectionError, match="Use the model it was made with"):
        small.upsert(pa.table({**{name: pa.array([""]) for name in other.schema.names}, **rows}))
    with pytest.raises(CollectionError, match="columns of collection 'rows' cannot change"):
        small.finish(replace(FACTS, columns=COLUMNS[::-1]))


def test_opening_says_what_is_not_there(small, tmp_path):
    with pytest.raises(CollectionError, match="no collection 'others'"):
        open_collection(f"{tmp_path}/store.db/others")
    with pytest.raises(CollectionError, match=r"There is no .*none\.db"):
        open_collection(f"{tmp_path}/none.db/rows")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(CollectionError, match="already"):
        create_collection(small.address, FACTS)
    (tmp_path / "file.db").write_text("no folder")
    with pytest.raises(CollectionError, match=r"file\.db cannot be opened"):
        open_collection(f"{tmp_path}/file.db/rows")
    with refused("does not answer"):
        open_collection("http://127.0.0.1:1/rows")


def test_a_dropped_collection_is_gone(small):
    small.drop()
    with pytest.raises(CollectionError, match="no collection 'rows'"):
        small.search(QUERIES[:1], 5)
    create_collection(small.address, FACTS).close()
    again = open_collection(small.address)
    assert again.facts == FACTS and again.count() == 0 and (again.search(QUERIES[:1], 3)[1] == -1).all() and not list(again.scan())
    again.close()


def test_a_closed_file_of_milvus_lite_can_be_opened_by_another_process(small, tmp_path):
    read = f"from sbert_app.collections import open_collection as o; print(o({small.address!r}).count())"
    run = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, check=False)
    assert "another process has it open" in run.stderr
    small.close()
    assert subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, check=False).stdout == "30\n"
    shutil.rmtree(tmp_path / "store.db")
    small.close()
    assert not (tmp_path / "store.db").exists()


def test_rows_of_a_file_are_found_when_its_facts_are_written_and_readers_learn_of_them(small):
    reader = open_collection(small.address)
    more, last = replace(FACTS, files=(*FACTS.files, "new.csv"), index=IVF), FILES << FILE_BITS | 1
    row = TABLE.slice(0, 1).to_pylist()[0] | {ROW: last, EMBEDDING: QUERIES[0].tolist()}
    small.upsert(pa.Table.from_pylist([row], schema=FACTS.schema))
    assert last not in reader.search(QUERIES[:1], 5)[1] and reader.search(QUERIES[:1], 5)[1][0, 3] >= 0
    small.finish(more)
    assert reader.search(QUERIES[:1], 5)[1][0, 0] == last and reader.facts == more
    reader.close()


class Guarded(grpc.ServerInterceptor):
    """Lets calls with one token through, as a Milvus with authentication does."""

    def intercept_service(self, continuation, call):
        if ("authorization", base64.b64encode(b"root:right").decode()) in [(key, value) for key, value in call.invocation_metadata]:
            return continuation(call)
        refuse = lambda request, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure: root:wrong")  # noqa: E731
        return grpc.unary_unary_rpc_method_handler(refuse)


def test_a_wrong_token_is_refused_at_once_and_never_repeated(tmp_path):
    store = MilvusLite(str(tmp_path / "guarded.db"))
    server = grpc.server(ThreadPoolExecutor(4), interceptors=[Guarded()])
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(store), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        create_collection(f"http://127.0.0.1:{port}/rows", FACTS, "root:right").close()
        for token in ("root:wrong", ""):
            with refused("refuses the token, or needs one") as error:
                open_collection(f"http://127.0.0.1:{port}/rows", token)
            assert "wrong" not in str(error.value)
    finally:
        server.stop(0).wait()
        store.close()


def test_a_server_that_goes_is_an_error_soon_and_used_again_when_it_is_back(server):
    opened = create_collection(f"{server.url}/rows", FACTS)
    opened.upsert(TABLE.slice(0, 300))
    opened.finish(replace(FACTS, index=IVF))
    before = opened.search(QUERIES[:3], 5)[1]
    errors = []

    def search_until_it_fails():
        try:
            while True:
                opened.search(QUERIES, 10)
        except Exception as error:
            errors.append(error)

    searching = threading.Thread(target=search_until_it_fails, daemon=True)
    searching.start()
    time.sleep(0.3)
    server.kill()
    searching.join(10)
    assert [type(error) for error in errors] == [CollectionError] and "does not answer" in str(errors[0])
    for call in (opened.count, lambda: opened.upsert(TABLE.slice(0, 1)), lambda: opened.finish(FACTS), lambda: next(opened.scan())):
        with refused("does not answer"):
            call()
    server.start()
    np.testing.assert_array_equal(opened.search(QUERIES[:3], 5)[1], before)
    assert opened.count() == 300
    opened.close()


READER = """
import sys, time
import numpy as np
from sbert_app.collections import open_collection
opened = open_collection(sys.argv[1])
query = np.zeros((1, opened.facts.dim), np.float32); query[0, 0] = 1
print("ready", flush=True)
searches, deadline = 0, time.monotonic() + 30
while time.monotonic() < deadline:
    cosines, rows = opened.search(query, 10, {"team": {"contains": "ill"}})
    assert (np.diff(cosines[0]) <= 1e-6).all()
    searches += 1
    if 999_999 in rows:
        print("searches", searches)
        break
"""


def test_two_processes_search_while_a_third_writes(server):
    opened = stored(f"{server.url}/rows", TABLE.slice(0, 500))
    start = [sys.executable, "-c", READER, opened.address]
    readers = [subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [reader.stdout.readline() for reader in readers] == ["ready\n"] * 2
    for part in range(500, 1500, 100):
        opened.upsert(TABLE.slice(part, 100))
    opened.finish(FACTS)
    sought = TABLE.slice(0, 1).to_pylist()[0] | {ROW: 999_999, METADATA + "team": "Billing", EMBEDDING: [1.0] + [0.0] * (DIM - 1)}
    opened.upsert(pa.Table.from_pylist([sought], schema=FACTS.schema))
    outputs = [reader.communicate(timeout=40) for reader in readers]
    assert all(output.startswith("searches ") for output, _ in outputs), outputs
    assert opened.count() == 1501 and opened.facts.index == EXACT
    opened.close()


def test_ranges_over_columns_in_several_forms_leave_the_rows_that_a_person_counts_and_the_others_are_counted(tmp_path):
    scales = {name: values.scale for name, cells in MIXED.items() if (values := read(pd.Series(cells)))}
    facts = Facts("tiny", "abc", DIM, "text", tuple(MIXED), scales, ("notes.csv",))
    metadata = {METADATA + name: list(cells) for name, cells in MIXED.items()}
    sentences = [f"Note {i}" for i in range(12)]
    rows = {ROW: list(range(12)), SENTENCE: sentences, **metadata, EMBEDDING: embedding_column(EMBEDDINGS[:12])}
    opened = stored(f"{tmp_path}/store.db/notes", pa.table(rows, schema=facts.schema), facts)
    for column, bounds, expected, unreadable, unclear in EXPECTED:
        found = opened.search(EMBEDDINGS[:1], 12, {column: bounds})[1][0]
        assert sorted(found[found >= 0]) == expected, (column, bounds)
        told = [int(sentence.split()[0]) for sentence in opened.unread({column: bounds})]
        assert told == [count for count in (unreadable, unclear) if count], (column, opened.unread({column: bounds}))
    assert opened.unread({"two forms": "soon"}) == []
    with pytest.raises(UserError, match="neither numbers nor dates"):
        opened.search(QUERIES[:1], 5, {"nothing": {"from": "1"}})
    opened.close()


def test_a_collection_of_an_earlier_version_tells_that_rows_in_another_form_are_missing(tmp_path):
    former = replace(FACTS, scales={"amount": "numbers", "day": "ISO dates"})
    opened = stored(f"{tmp_path}/store.db/rows", TABLE.slice(0, 30), former)
    assert "earlier version, which read column 'day' only as ISO dates" in opened.unread({"day": {"from": "2026"}})[-1]
    assert_rows_as_of_a_table(opened, {"day": {"from": "2026"}}, TABLE.slice(0, 30))
    opened.close()
