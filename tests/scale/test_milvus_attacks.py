"""A Milvus that lies, hangs or goes, and a collection that something else made, end in a sentence within bounded time."""

import json
import os
import signal
import socket
import threading
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")

from pymilvus import DataType, MilvusClient

from sbert_app.collections import open_collection
from sbert_app.collections.collection import FILE_BITS, ROW, CollectionError
from sbert_app.collections.milvus import index as index_module
from sbert_app.collections.milvus import store
from sbert_app.collections.milvus.index import PROPERTY, Index, properties_of
from sbert_app.collections.milvus.rows import schema_for
from sbert_app.errors import UserError
from tests.scale.test_milvus import DIM, FACTS, QUERIES, TABLE, refused, stored

ANSWERS = {
    "nothing": b"",
    "a web page": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "noise": b"\xff" * 10_000,
    "a beginning of HTTP/2": b"\0\0\0\x04\0\0\0\0\0",
}


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_a_server_that_is_no_milvus_is_told_within_seconds(answer):
    listening, held = socket.create_server(("127.0.0.1", 0)), []

    def accept():
        while True:
            held.append(listening.accept()[0])  # kept open: it never answers more
            held[-1].sendall(ANSWERS[answer])

    threading.Thread(target=accept, daemon=True).start()
    with refused("Milvus at http://127.0.0.1", 20):
        open_collection(f"http://127.0.0.1:{listening.getsockname()[1]}/rows")


def test_a_server_that_hangs_while_it_is_asked_is_told_within_bounded_time(server, monkeypatch):
    for module in (store, index_module):
        monkeypatch.setattr(module, "READ_SECONDS", 2.0)
    opened = stored(f"{server.url}/rows", TABLE.slice(0, 100))
    os.kill(server._process.pid, signal.SIGSTOP)
    try:
        for call in (lambda: opened.search(QUERIES[:1], 5), opened.count, lambda: opened.fetch([1]), lambda: list(opened.scan())):
            with refused(r"took too long|does not answer", 15):
                call()
    finally:
        os.kill(server._process.pid, signal.SIGCONT)
    assert opened.search(QUERIES[:1], 5)[1].shape == (1, 5)
    opened.close()


def written(kind="exact", lists=0, **changes):
    """What the property of a collection holds, with forged facts."""
    return json.dumps({"facts": {**FACTS.to_json(), **changes}, "kind": kind, "lists": lists})


FORGED = [
    written(columns="team"), written(dim=10**30), written(dim=8), written(dim=0), written(scales={"team": "nothing"}),
    written(files=None), written(model=3), written(columns=[1]), written(recall="x"), written(kind="scann"), written(kind=["ivf"]),
    written(kind="ivf", lists=-1), written(kind="ivf", lists=10**30),
]  # fmt: skip


@pytest.fixture
def client(tmp_path):
    opened = MilvusClient(f"{tmp_path}/store.db")
    yield opened
    opened.close()


def make(client, schema=None, properties=None):
    index = Index()
    properties = properties_of(FACTS, index) if properties is None else properties
    client.create_collection("rows", schema=schema or schema_for(FACTS), index_params=index.parameters(), properties=properties)


@pytest.mark.parametrize("text", [*FORGED, "", "null", "[]", "{", "[" * 100_000, '{"facts": null}'], ids=lambda text: text[-60:])
def test_forged_facts_and_a_property_that_holds_none_are_not_believed(client, tmp_path, text):
    make(client, properties={PROPERTY: text})
    with pytest.raises(CollectionError, match="was not made by SBERT Studio"):
        open_collection(f"{tmp_path}/store.db/rows")


@pytest.mark.parametrize("properties", [None, {}], ids=["with our facts", "of something else"])
def test_a_schema_that_is_not_ours_is_told(client, tmp_path, properties):
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=DIM)
    make(client, schema, properties)
    with pytest.raises(CollectionError, match="was not made by SBERT Studio"):
        open_collection(f"{tmp_path}/store.db/rows")


def record(row, **changes):
    cells = {f"c{place}": "x" for place in range(len(FACTS.columns))}
    return {ROW: row, "embedding": [1.0] + [0.0] * (DIM - 1), "sentence": f"Sentence {row}", "folded": "", **cells, **changes}


def accepted(client, row):
    """Whether Milvus itself takes a row."""
    try:
        client.upsert("rows", [row])
    except Exception:
        return False
    client.flush("rows")
    client.load_collection("rows")
    return True


def test_rows_that_something_else_wrote_are_told_or_left_out(client, tmp_path):
    make(client)
    strange = [
        record(1, sentence="\0\x1b[31m</script>\u202e"), record(-5), record(2**62), record(3, c0=7), record(4, c1=["a"]),
        {name: value for name, value in record(5).items() if not name.startswith("c")},
        record(6, embedding=[1e30] * DIM), record(7, embedding=[float("nan")] * DIM),
    ]  # fmt: skip
    told = []
    for place, row in enumerate(strange):
        if not accepted(client, row):
            continue
        opened = open_collection(f"{tmp_path}/store.db/rows")
        uses = {
            "search": lambda opened: opened.search(QUERIES[:2], 5),
            "fetch": lambda opened, row=row[ROW]: opened.fetch([row]),
            "scan": lambda opened: list(opened.scan()),
            "sample": lambda opened: opened.sample(9),
        }
        for use in uses.values():
            try:
                value = use(opened)
                if isinstance(value, tuple):
                    assert np.isfinite(value[0]).all() and (value[1] >> FILE_BITS < len(FACTS.files)).all()
            except CollectionError as error:
                told.append(place)
                assert "Index its files again" in str(error)
        opened.close()
        client.delete("rows", filter=f"{ROW} == {row[ROW]}")
    assert not {0, 1, 2} & set(told), told


@pytest.mark.parametrize(
    "value", ["\0", "\ud800", '"] or row > 0 or sentence in ["', "x" * 100_000, "%' --", "{}{team}", "\u202e"], ids=ascii
)
def test_hostile_filters_give_rows_that_fit_or_a_sentence(tmp_path, value):
    opened = stored(f"{tmp_path}/store.db/rows", TABLE.slice(0, 50))
    of_team = ({"team": team} for team in (value, {"contains": value}, [value] * 50))
    for filters in (*of_team, {value: "x"}, {"amount": {"from": value}}):
        try:
            assert (opened.search(QUERIES[:1], 5, filters)[1] == -1).all()
        except UserError as error:
            assert "Traceback" not in str(error)
    opened.close()


@pytest.mark.parametrize("name", ["a b", "1a", "a;drop", "../x", "a" * 300, "größe", "a%00", "a\nb"])
def test_hostile_names_are_refused_before_anything_is_asked(name):
    with pytest.raises(UserError):
        open_collection(f"http://127.0.0.1:1/{name}")


def test_a_collection_whose_files_were_dropped_from_its_facts_shows_no_row_of_them(tmp_path):
    opened = stored(f"{tmp_path}/store.db/rows", TABLE.slice(0, 30), replace(FACTS, files=FACTS.files[:1]))
    assert (opened.search(QUERIES[:2], 30)[1] >> FILE_BITS < 1).all()
    assert all((table.column(ROW).to_numpy() >> FILE_BITS == 0).all() for table in opened.scan())
    opened.close()
