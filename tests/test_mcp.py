"""The jobs as tools of the Model Context Protocol, driven by a real client. Needs `pip install "gradio[mcp]"`, skipped without."""

import asyncio
import json
import os
from ast import literal_eval  # Gradio writes answers so, not as JSON

import pytest

from sbert_app.jobs import JOBS
from tests.attacks.server import serving

pytest.importorskip("mcp")
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client

LINES = "\n".join(f"{what} number {i}" for i in range(6) for what in ("a red car", "a green apple", "a late parcel"))


def test_a_client_finds_and_uses_every_tool(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "SBERT_STUDIO_MCP", "1")
    with serving(tmp_path / "home", hosted=False) as server:
        tools, answers = asyncio.run(driven(f"{server.url}/gradio_api/mcp/"))
    assert set(tools) == {job.name for job in JOBS}
    assert "The search query, in any words." in json.dumps(tools["search"])
    score, indexed, hits, mistake = answers
    assert 0.5 < score["score"] < 1 and indexed["sentences"] == 18
    assert hits["hits"][0]["sentence"].startswith("a green apple")
    assert "This session has ended" in mistake


async def driven(url):
    async with streamablehttp_client(url) as (reading, writing, _), ClientSession(reading, writing) as session:
        await session.initialize()
        tools = {tool.name: tool.inputSchema for tool in (await session.list_tools()).tools}

        async def call(name, **arguments):
            return (await session.call_tool(name, arguments)).content[0].text

        score = literal_eval(await call("similarity", sentence1="A cat sits.", sentence2="A kitten rests."))
        indexed = literal_eval(await call("index_corpus", lines=LINES))
        hits = literal_eval(await call("search", corpus=indexed["corpus"], query="green fruit", top=2))
        return tools, (score, indexed, hits, await call("search", corpus="guessed", query="x"))


def test_hostile_arguments_are_refused_and_read_no_file(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "SBERT_STUDIO_MCP", "1")
    secret = tmp_path / "secret.csv"
    secret.write_text("text\n" + "\n".join(f"the hidden word is xyzzy {number}" for number in range(30)))
    with serving(tmp_path / "home", hosted=True) as server:
        answers, score = asyncio.run(attacked(f"{server.url}/gradio_api/mcp/", secret))
        log = server.log()
    for sent, answer in answers:
        assert "xyzzy" not in answer and "Traceback" not in answer and "our side" not in answer, (sent, answer)
    assert 0.5 < score["score"] < 1 and "Traceback" not in log, log


def hostile(secret):
    """Calls of tools that no client should send."""
    upload = {"path": str(secret), "meta": {"_type": "gradio.FileData"}}
    deep = {"a": 1}
    for _ in range(200):
        deep = {"a": deep}
    paths = (str(secret), f"file://{secret}", "data:text/csv;base64,!!", "\0")
    for file in (*paths, upload, {**upload, "url": f"file://{secret}"}, [upload]):
        yield "encode", {"file": file}
        yield "score_pairs", {"file": file}
        yield "transfer", {"file": LINES, "test": file}
    for value in (None, 5, True, [], {}, upload, "\0", "x" * 1_000_000, "../../etc/passwd", str(secret.parent)):
        yield "similarity", {"sentence1": value, "sentence2": "text"}
        yield "similarity", {"sentence1": "text", "sentence2": "text", "model": value}
        yield "search", {"corpus": value, "query": "text"}
        yield "open_collection", {"address": value}
    for filters in (upload, {"text": upload}, deep, [upload], "{"):
        yield "search", {"corpus": "x", "query": "text", "filters": filters}
    for number in (float("nan"), -1, 10**30, "ten", None):
        yield "search", {"corpus": "x", "query": "text", "top": number}
        yield "timing", {"seconds": number}
    yield "search", {}
    yield "no_such_tool", {"a": 1}
    yield "encode", {"lines": "one\ntwo", "out": str(secret.parent / "written.npy")}


async def attacked(url, secret):
    async with streamablehttp_client(url) as (reading, writing, _), ClientSession(reading, writing) as session:
        await session.initialize()
        answers = []
        for name, arguments in hostile(secret):
            try:
                answer = await session.call_tool(name, arguments)
                answers.append(((name, str(arguments)[:200]), " ".join(part.text for part in answer.content)))
            except (McpError, ValueError) as error:
                answers.append(((name, str(arguments)[:200]), str(error)))
        last = await session.call_tool("similarity", {"sentence1": "A cat sits.", "sentence2": "A kitten rests."})
    assert not (secret.parent / "written.npy").exists()
    return answers, literal_eval(last.content[0].text)
