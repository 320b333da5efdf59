"""Lines of the log: one for each job that ended, the number of a fault on screen and in the log, and no word of a visitor."""

import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

from sbert_app.errors import EndedEarlyError, FaultError, UserError
from sbert_app.jobs.search import job as searching
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime.session import Session
from sbert_app.serve.embeddings import EmbeddingRequest
from sbert_app.settings import Settings
from sbert_app.ui.kit.events import LongJob, handler
from sbert_app.watching import TEXT, DiscreetFormatter, JsonFormatter, Private, log_as, watched
from tests.attacks.server import serving
from tests.served import Served

WORDS = ("xanthippe", "zebrawood", "quagmire", "obsidian", "marzipan")  # of a visitor: file name, rows, query, labels, a path


@contextmanager
def lines(formatter: logging.Formatter | None = None) -> Iterator[Callable[[], list[Any]]]:
    """What is logged in the block, as JSON unless said otherwise."""
    root, stream = logging.getLogger(), io.StringIO()
    keeper, level = logging.StreamHandler(stream), root.level
    keeper.setFormatter(formatter or JsonFormatter())
    root.addHandler(keeper)
    root.setLevel(logging.INFO)
    try:
        yield lambda: [line if formatter else json.loads(line) for line in stream.getvalue().splitlines()]
    finally:
        root.removeHandler(keeper)
        root.setLevel(level)


def outcome(error: BaseException | None) -> str:
    """The outcome of a job that ends so, from its line."""
    with lines() as logged:
        try:
            with watched("page", "search.search") as current:
                current.sizes["rows"] = 7
                if error:
                    raise error
        except BaseException as raised:
            assert raised is error or isinstance(raised, FaultError)
    line = logged()[-1]
    assert (line["message"], line["door"], line["job"], line["rows"]) == ("a job ended", "page", "search.search", 7)
    assert line["milliseconds"] >= 0 and re.fullmatch("[0-9a-f]{6}", line["number"])
    return str(line["outcome"])


def test_a_job_ends_in_one_of_four_ways():
    assert outcome(None) == "ok"
    assert outcome(UserError("mend it")) == "refused"
    assert outcome(EndedEarlyError("stopped")) == outcome(GeneratorExit()) == "stopped"
    assert outcome(KeyError(WORDS[0])) == "failed"


def test_a_handler_is_named_by_its_tab_and_a_stop_of_its_visitor_is_told():
    with gr.Blocks(), lines() as logged:
        stop, start, stage = gr.Button("Stop"), gr.Button(), gr.HTML()
        job = LongJob(stop, stage, start)
        session = Session()

        def work(session):
            yield job.busy("one")
            job._asked.add(session)  # what the button does
            yield job.busy("two")

        list(handler(job._stoppable(work))(session))
        next(left := handler(job._stoppable(work))(session))
        left.close()
        handler(job._on_stop)(session)
    ended = [(line["job"], line["outcome"]) for line in logged()]
    assert ended[0][1] == ended[1][1] == "stopped" and ended[2] == ("kit.stop", "ok")


def test_no_line_in_json_or_hosted_has_a_private_text_nor_what_an_error_says():
    def log_all() -> None:
        ours = logging.getLogger("sbert_app.somewhere")
        ours.info("loaded %s in %d s", Private(WORDS[4]), 3)
        ours.warning("cannot: %s", OSError(28, f"No space left on {WORDS[4]}", WORDS[4]))
        logging.getLogger("asyncio").error(f"never retrieved\n{WORDS[0]}")
        logging.getLogger("library").error("failed on %s", WORDS[0])
        try:
            try:
                raise KeyError(WORDS[1])
            except KeyError as error:
                raise ValueError(WORDS[2]) from error
        except ValueError:
            ours.exception("it failed")

    with lines() as as_json:
        log_all()
    with lines(DiscreetFormatter(TEXT)) as as_text:
        log_all()
    ours, libraries = ["loaded … in 3 s", "cannot: OSError (No space left on device)"], ["never retrieved", "failed on %s"]
    assert [line["message"] for line in as_json()] == [*ours, *libraries, "it failed"]
    told = as_json()[-1]["traceback"]
    assert told.index("\nValueError\ncaused by: Traceback") < told.index("\nKeyError") and "in log_all" in told
    for text in (json.dumps(as_json()), "\n".join(as_text())):
        assert [word for word in WORDS if word in text] == [] and "KeyError" in text


def test_at_home_the_log_is_text_with_all_that_an_error_says_and_without_the_ends_of_jobs(capsys):
    root = logging.getLogger()
    kept, level = list(root.handlers), root.level
    try:
        log_as("text", hosted=False)
        with pytest.raises(FaultError), watched("page", "search.search"):
            raise KeyError(WORDS[0])
    finally:
        logging.basicConfig(handlers=kept, force=True)
        root.setLevel(level)
    text = capsys.readouterr().err
    assert f"KeyError: '{WORDS[0]}'" in text and "ERROR sbert_app.watching: search.search (page) failed, number" in text
    assert "a job ended" not in text


def test_a_fault_of_ours_is_found_in_the_log_by_the_number_on_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError(f"what it was about: {WORDS[2]}")

    def found(text: str) -> None:
        assert WORDS[2] not in text
        number = re.search(r"our side; it has been logged under the number ([0-9a-f]{6})\.", text)[1]
        failed, ended = [line for line in logged() if line.get("number") == number]
        assert failed["traceback"].endswith("\nRuntimeError") and "in fail" in failed["traceback"]
        assert ended["outcome"] == "failed" and WORDS[2] not in json.dumps(logged())

    with closing(Served(Settings(home=tmp_path, device="cpu"))) as app, lines() as logged:
        client = Client(app.url, verbose=False)
        corpus = client.predict(None, "a red car\na green apple", [], DEFAULT_ENCODER, api_name="/index_corpus")["corpus"]
        monkeypatch.setattr(searching, "search", fail)
        with pytest.raises(AppError) as shown:
            client.predict(corpus, WORDS[2], 1, api_name="/search")
        found(str(shown.value))
        monkeypatch.setattr(EmbeddingRequest, "answer", fail)
        answer = app.http.post("v1/embeddings", json={"model": DEFAULT_ENCODER, "input": WORDS[2]})
        assert answer.status_code == 500 and answer.json()["error"]["type"] == "server_error"
        found(answer.json()["error"]["message"])
        with pytest.raises(gr.Error) as on_page:
            handler(fail)(Session())
        found(str(on_page.value))


def all_jobs(url: str, folder: Path) -> None:
    """One of each main job, with a visitor's words in all that is sent."""
    client = Client(url, verbose=False)
    rows = folder / f"{WORDS[0]}.csv"
    rows.write_text(f"text,{WORDS[3]}\n" + "\n".join(f"the {WORDS[1]} table number {i},{i % 3}" for i in range(60)))
    pairs = folder / f"{WORDS[0]} pairs.csv"
    scored = "\n".join(f"the {WORDS[1]} number {i},one {WORDS[3]} {i * 7 % 60},{i % 6}" for i in range(60))
    pairs.write_text(f"sentence1,sentence2,score\n{scored}")
    corpus = client.predict(handle_file(str(rows)), "", ["text"], DEFAULT_ENCODER, api_name="/index_corpus")["corpus"]
    client.predict(WORDS[1], WORDS[2], api_name="/similarity")
    client.predict(corpus, WORDS[2], 3, api_name="/search")
    client.predict(corpus, WORDS[2], "1", api_name="/why_not")
    client.predict(corpus, api_name="/duplicates")
    client.predict(corpus, api_name="/cluster_map")
    client.predict(handle_file(str(pairs)), api_name="/score_pairs")
    client.predict(handle_file(str(pairs)), "", [], api_name="/evaluate")
    client.predict(handle_file(str(pairs)), api_name="/fine_tune")
    body = {"model": DEFAULT_ENCODER, "input": [WORDS[1], WORDS[2]]}
    assert httpx.post(f"{url}/v1/embeddings", json=body, timeout=60).status_code == 200
    with pytest.raises(AppError):  # a path that is nowhere
        client.predict(WORDS[1], WORDS[2], f"./{WORDS[4]}", api_name="/similarity")
    bad = folder / f"{WORDS[0]} bad.csv"
    bad.write_bytes(b"\x00\x01" + WORDS[1].encode())
    with pytest.raises(AppError):
        client.predict(handle_file(str(bad)), "", [], DEFAULT_ENCODER, api_name="/index_corpus")
    made_up = {"data": [{"path": f"/etc/{WORDS[4]}", "meta": {"_type": "gradio.FileData"}}, "", [], DEFAULT_ENCODER]}
    event = httpx.post(f"{url}/gradio_api/call/index_corpus", json=made_up).json()["event_id"]
    assert "error" in httpx.get(f"{url}/gradio_api/call/index_corpus/{event}", timeout=60).text
    assert httpx.get(f"{url}/v1/models/{WORDS[4]}", timeout=60).status_code == 404


def test_a_running_app_logs_json_without_a_word_of_its_visitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LOG": "json", "METRICS": "1", "ENGINE": "torch"}.items():  # torch: nothing is converted beside the jobs
        monkeypatch.setitem(os.environ, f"SBERT_STUDIO_{name}", value)
    with serving(tmp_path / "home", hosted=False, limits={"hits": 1_000}) as server:  # not warmed up
        all_jobs(server.url, tmp_path)
        figures = httpx.get(f"{server.url}/metrics").text
        text = server.log()
    logged = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    others = [line for line in text.splitlines() if line and not line.startswith("{")]
    assert [line for line in others if not line.startswith(("* ", "INFO"))] == []
    assert [word for word in (*WORDS, str(tmp_path / WORDS[0])) if word in (text + figures).lower()] == []
    ended = {(line["job"], line["outcome"]) for line in logged if line["message"] == "a job ended"}
    names = "index_corpus similarity search why_not duplicates cluster_map score_pairs evaluate fine_tune embeddings run".split()
    assert {(name, "ok") for name in names} <= ended
    assert {("similarity", "refused"), ("index_corpus", "refused"), ("model", "refused")} <= ended
    assert [line for line in logged if line["level"] == "ERROR"] == []
    assert all({"time", "level", "logger", "message"} <= set(line) for line in logged)
    embeddings = next(line for line in logged if line.get("job") == "embeddings")
    assert embeddings["texts"] == 2 and embeddings["tokens"] > 4
    assert next(line for line in logged if line.get("job") == "search")["items"] == 3
