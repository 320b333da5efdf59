"""Endpoints whose caller leaves, each job alike, and a job that exceeds the time limit, in the app as it is hosted."""

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.client import Job

from sbert_app.errors import UserError
from sbert_app.jobs.corpus.opening import read_lines
from sbert_app.jobs.declaring.job import Call, outcome_of
from sbert_app.jobs.declaring.option import read
from sbert_app.jobs.encode import ENCODE
from sbert_app.runs.run import Runs
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import HOSTED_LIMITS, Settings
from tests.attacks.server import CROSS, MODEL, RefusedError, Server, call, serving, upload

LEAVING, LOOKING = 0.5, 0.2  # seconds of work after which the client leaves, and between two looks at the place
# Seconds until its place is free: 0.2 on a quiet machine, 13 on one with fifteen times its load; the job takes 20 on a quiet one
FREE = 15.0
LABELLED = "assets/labelled/requests_scored.csv"
OWNER = "the secret of a visitor"
VISITORS = itertools.count(1)  # each call by another: Gradio ends all that a connection waits for when one of its streams ends


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    """One heavy job at a time in the whole app. The models are loaded: nothing stops that."""
    precision = {"SBERT_STUDIO_PRECISION": "fp32"}  # the embeddings that come with the app are in it
    with serving(tmp_path_factory.mktemp("leaving") / "home", True, {"jobs": 1, "reading_seconds": 100}, precision) as running:
        ask_once(running, "similarity", sentence1="a cat", sentence2="a kitten", cross_encoder=CROSS)
        yield running


def ask_once(server: Server, name: str, **values: object) -> None:
    """Ask an endpoint, alone."""

    async def ask() -> None:
        async with httpx.AsyncClient(timeout=60) as client:
            await call(client, server.url, name, next(VISITORS), **values)

    asyncio.run(ask())


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    """Files that each job works on for far longer than the limit."""
    folder, chance = tmp_path_factory.mktemp("files"), random.Random(0)
    words = [f"word{number}" for number in range(2_000)]

    def sentence() -> str:
        return " ".join(chance.choices(words, k=20))

    pairs = [f"{sentence()},{sentence()},{chance.random():.2f}" for _ in range(3_000)]
    classes = [f"{sentence()},{number % 9}" for number in range(3_000)]
    (folder / "pairs.csv").write_text("\n".join(["sentence1,sentence2,score", *pairs]))
    (folder / "classes.csv").write_text("\n".join(["text,label", *classes]))
    (folder / "lines.txt").write_text("\n".join(sentence() for _ in range(6_000)))
    return {path.stem: str(path) for path in folder.iterdir()}


JOBS: dict[str, tuple[str, str, dict[str, object]]] = {  # endpoint, its file, and what else is sent
    "encode": ("encode", "lines", {}),
    "index_corpus": ("index_corpus", "lines", {}),
    "score_pairs": ("score_pairs", "pairs", {}),
    "evaluate": ("evaluate", "pairs", {"systems": ["sbert", "cross-encoder"]}),
    "evaluate, svr": ("evaluate", "pairs", {"systems": ["svr"]}),
    "evaluate, classes": ("evaluate", "classes", {"systems": ["sbert"], "quick": True}),
    "transfer": ("transfer", "classes", {}),
    "transfer, quick": ("transfer", "classes", {"quick": True}),
    "timing": ("timing", "lines", {"seconds": 20, "cross_encoder": CROSS}),
}


async def uploaded(client: httpx.AsyncClient, server: Server, path: str) -> dict[str, object]:
    return await upload(client, server.url, Path(path).name, Path(path).read_bytes())


async def ask(client: httpx.AsyncClient, server: Server, files: dict[str, str], job: str) -> object:
    name, file, values = JOBS[job]
    sent = await uploaded(client, server, files[file])
    return await call(client, server.url, name, next(VISITORS), file=sent, **values)


async def is_free(client: httpx.AsyncClient, server: Server) -> bool:
    """Whether a heavy job of another visitor is let in."""
    try:
        await call(client, server.url, "encode", next(VISITORS), lines="a single sentence")
    except RefusedError as refusal:
        return "Too busy" not in str(refusal)
    return True


async def freed(client: httpx.AsyncClient, server: Server) -> float:
    """Seconds until the place is free: until the job that is let in was sent, which on a busy machine takes long itself."""
    start = sent = time.monotonic()
    while not await is_free(client, server):
        await asyncio.sleep(0.1)
        sent = time.monotonic()
    return sent - start


async def begun(client: httpx.AsyncClient, server: Server, start: Callable[[], asyncio.Future[object]]) -> asyncio.Future[object]:
    """Start a job; it has the place now, and worked for a while. It may come while a question whether the place is free has it."""
    while True:
        job = start()
        while not job.done():
            await asyncio.sleep(LOOKING)
            if not await is_free(client, server):
                await asyncio.sleep(LEAVING)
                assert not job.done()
                return job
        assert "Too busy" in str(job.exception())


@pytest.mark.parametrize("job", JOBS)
def test_a_client_that_leaves_frees_its_place(server, files, job):
    async def leave() -> float:
        async with httpx.AsyncClient(timeout=60) as client:
            await freed(client, server)  # the test before has ended
            leaving = await begun(client, server, lambda: asyncio.ensure_future(ask(client, server, files, job)))
            leaving.cancel()
            return await freed(client, server)

    assert asyncio.run(leave()) < FREE


def test_a_job_that_takes_too_long_says_so(tmp_path):
    """By the token that stops it when its client leaves."""
    bench = Workbench(Settings(home=tmp_path, device="cpu", hosted=True, limits=replace(HOSTED_LIMITS, job_seconds=0)))
    call = Call(bench, table=read_lines("a single sentence", bench.settings.limits))
    with pytest.raises(UserError, match="Stopped after .*, the limit here"):
        outcome_of(ENCODE.steps(call, read(ENCODE.options, {}, bench.settings.limits)))


def test_a_client_that_cancels_frees_its_place(server, files):
    async def cancel() -> float:
        async with httpx.AsyncClient(timeout=60) as other:
            await freed(other, server)
            sent: list[Job] = []

            def submit() -> asyncio.Future[object]:
                sent.append(client.submit(handle_file(files["lines"]), "", [], MODEL, api_name="/encode"))
                return asyncio.wrap_future(sent[-1].future)

            await begun(other, server, submit)
            sent[-1].cancel()
            return await freed(other, server)

    client = Client(server.url, verbose=False)
    assert asyncio.run(cancel()) < FREE
    client.close()


def test_a_training_goes_on_when_its_client_leaves_and_other_jobs_are_served(server, files):
    runs = Runs(server.home / "runs")

    def steps() -> int:
        return sum(len(runs.get(info.id).events()) for info in runs.list())

    async def train(client: httpx.AsyncClient) -> object:
        sent = await uploaded(client, server, LABELLED)
        asked = {"objective": "regression", "owner": OWNER}
        return await call(client, server.url, "fine_tune", next(VISITORS), file=sent, **asked)

    async def leave() -> tuple[float, str]:
        async with httpx.AsyncClient(timeout=60) as client:
            training = asyncio.ensure_future(train(client))
            while not steps():
                await asyncio.sleep(0.1)
                assert not training.done()
            training.cancel()
            seconds = await freed(client, server)
            with pytest.raises(RefusedError) as refused:
                await train(client)
            return seconds, str(refused.value)

    seconds, refusal = asyncio.run(leave())
    assert seconds < FREE and "Your last run is still training" in refusal and len(runs.list()) == 1
    before, until = steps(), time.monotonic() + 200
    while steps() <= before:  # it goes on
        assert time.monotonic() < until, runs.list()
        time.sleep(0.1)
    assert "Traceback" not in server.log()


@pytest.mark.parametrize("file", [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}, {"path": 5}, "a.csv", [[]]])
def test_a_malformed_file_is_one_line_in_the_log(server, file):
    before = server.log()
    with pytest.raises((RefusedError, httpx.HTTPStatusError)):
        ask_once(server, "encode", file=file)
    lines = server.log().removeprefix(before).splitlines()
    assert len(lines) <= 1 and all("a request failed in Gradio" in line for line in lines)
