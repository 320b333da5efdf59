"""The jobs as tools of the Model Context Protocol, driven by a real client. Needs `pip install "gradio[mcp]"`, skipped without."""

import asyncio
import json
import os
from ast import literal_eval  # Gradio writes answers so, not as JSON

import pytest

from sbert_app.jobs import JOBS
from tests.attacks.server import serving

pytest.importorskip("mcp")
from mcp import ClientSession
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
