"""The shell: one JSON object on stdout, a user's mistake in one line with status 2."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sbert_app import __version__
from sbert_app.jobs.search.open_corpus import no_hits

ROOT = Path(__file__).parents[2]
TICKETS = ROOT / "assets" / "examples" / "support_tickets.csv"
PAIRS = ROOT / "assets" / "labelled" / "requests_scored.csv"


def first_lines(file, count):
    return "".join(file.read_text(encoding="utf-8").splitlines(keepends=True)[:count])


def test_the_module_is_a_command(tmp_path):
    """As a person starts it; the other tests call the same in this process."""
    env = os.environ | {"SBERT_STUDIO_HOME": str(tmp_path / "home"), "SBERT_STUDIO_DEVICE": "cpu"}
    command = [sys.executable, "-m", "sbert_app", "similarity", "A cat sits.", " "]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, timeout=120)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("Error: The second sentence is blank.")


def test_similarity(shell):
    result = json.loads(shell("similarity", "A cat sits.", "A kitten rests.", "--json")[0])
    assert set(result) >= {"score", "percentile", "cross_encoder_score", "milliseconds"}
    assert result["score"] > 0.5 and result["percentile"] > 99 and result["cross_encoder_score"] is None
    assert result["in_words"].startswith("Close in ") and result["cautions"] == []
    denied = shell("similarity", "It works.", "It does not work.")[0].splitlines()
    assert denied[0].startswith("Close in topic: higher than ") and denied[1].endswith("cosine similarity, all-MiniLM-L6-v2")
    assert denied[2].startswith("Caution: The second sentence has “not”")


def test_a_named_cross_encoder_ranks_and_words_that_no_row_has_are_no_filter(shell):
    options = ("--query", "card", "--top", "2", "--cross-encoder", "cross-MiniLM-L6-stsb", "--json")
    answer = json.loads(shell("search", TICKETS, *options)[0])
    assert all(hit["cross_score"] is not None for hit in answer["hits"])
    assert shell("search", TICKETS, "--query", "zzzqqq", "--ranking", "words")[0] == f"{no_hits('words')}\n"


def test_encode_writes_an_array_in_file_order_and_tells_rows_without_an_embedding(shell, write, tmp_path, encoder, sentences):
    few = write("few.csv", first_lines(TICKETS, 101))
    result = json.loads(shell("encode", few, "--out", tmp_path / "e.npy", "--json")[0])
    assert result["columns"] == ["text"]
    embeddings = np.load(tmp_path / "e.npy")
    assert embeddings.shape == (100, 384) == (result["sentences"], result["dim"])
    assert result["dtype"] == str(embeddings.dtype) == "float32" and result["device"] == "cpu"
    assert result["sentences_per_second"] == pytest.approx(100 / result["seconds"])
    assert (embeddings[[0, 50]] * encoder.encode([sentences[0], sentences[50]])).sum(1).min() > 0.999
    path, out = write("gaps.csv", "text,tag\nReset my password,a\n,b\nInvoice missing,c\n"), tmp_path / "few.npy"
    result = json.loads(shell("encode", path, "--out", out, "--json")[0])
    assert np.load(out).shape == (2, 384) and result["skipped"] == [{"row": 2, "reason": "blank sentence"}]


def test_why_not(shell, write):
    few = write("few.csv", first_lines(TICKETS, 101))
    options = ("--query", "my app crashes", "--expected", "1", "--filters", '{"team": "Nobody"}')
    result = json.loads(shell("why_not", few, *options, "--json")[0])
    assert result["reason"] == "filter" and "is hidden by a filter" in result["in_words"]
    assert result["filters"][0]["column"] == "team"
    assert [standing["way"] for standing in result["standings"]] == ["meaning", "words", "together", "word by word"]
    lines = shell("why_not", few, *options)[0].splitlines()
    assert lines[0] == result["in_words"] and lines[1].startswith("meaning")


def test_its_version_and_its_models(shell):
    assert shell("--version")[0] == f"{__version__}\n"
    models = json.loads(shell("models", "--json")[0])["models"]
    bundled = {"name": "all-MiniLM-L6-v2", "kind": "encoder", "origin": "bundled", "dim": 384, "available": True}
    assert models[0] == bundled | {"trained_for": "", "labels": None}
    assert (models[1]["kind"], models[1]["trained_for"], models[1]["labels"]) == ("cross-encoder", "likeness", 1)
    assert "cross-MiniLM-L6-stsb  cross-encoder, bundled, ? dimensions, trained for likeness\n" in shell("models")[0]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("search", "nowhere.csv", "--query", "x"), "There is no file 'nowhere.csv'. Check the path."),
        (("search", "/dev/null", "--query", "x"), "There is no file '/dev/null'. Pipes are not read"),
        (("search", TICKETS, "--query", "x", "--column", "nope"), "'support_tickets.csv' has no column 'nope'."),
        (("search", TICKETS), "Missing option '--query'. Try --help."),
        (("encode", TICKETS, "--out", "/nowhere/e.npy"), "Cannot write '/nowhere/e.npy': No such file or directory."),
        (("encode", TICKETS, "--out", "e.csv"), "'e.csv' must end in .npy"),
        (("similarity", "a", "b", "--model", "no/such"), "The model 'no/such' is not on this machine"),
        (("similarity", "a", "b", "--cross-encoder", "all-MiniLM-L6-v2"), "The model 'all-MiniLM-L6-v2' is of kind encoder"),
        (("duplicates", TICKETS, "--remove", "all"), "Unknown rows to remove 'all'. Must be one of copies, unmarked, similar."),
        (("duplicates", TICKETS, "--clean", "/nowhere/clean.csv"), "Cannot write '/nowhere/clean.csv'"),
        (("evaluate",), "Give a file of pairs or labelled sentences, or a folder of them with --data."),
        (("evaluate", "--data", "nowhere"), "There is no folder 'nowhere'. Check the path."),
        (("evaluate", PAIRS, "--data", ROOT), "Give a file, or a folder with --data, not both."),
        (("train", PAIRS, "--out", ROOT), f"'{ROOT}' already exists. Choose another --out."),
        (("train", PAIRS, "--out", PAIRS / "model"), f"Cannot write '{PAIRS}/model': Not a directory."),
        (("train", PAIRS, "--objective", "triplet", "--out", "x"), "The objective 'triplet' cannot learn from scored pairs."),
        (("map", TICKETS, "--out", "map.pdf"), "'map.pdf' must end in .html or .csv"),
        (("map", TICKETS, "--out", "/no/folder/map.csv"), "Cannot write '/no/folder/map.csv'"),
        (("index", "nowhere.csv", "--store", "s"), "There is no file 'nowhere.csv'. Check the path.\n"),
        (("index", "a.csv"), "Name either --store, a collection, or --out, a folder for Parquet files.\n"),
        (("index", "a.csv", "--store", "s", "--shard", "3/2"), "--shard is '3/2'. It must be a part and the number of parts, such"),
        (("nonsense",), "No such command 'nonsense'."),
    ],
)
def test_a_users_mistake_is_one_line_and_status_2_and_nothing_is_computed(shell, tmp_path, args, message):
    out, err = shell(*args, status=2)
    assert out == "" and err.startswith(f"Error: {message}")
    assert len(err.splitlines()) == 1, "no stage"
    assert not list((tmp_path / "home" / "runs").glob("*"))
