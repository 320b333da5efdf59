"""The named endpoints, through gradio_client against the running app."""

import numpy as np
import pytest
from gradio_client import Client, handle_file

from sbert_app.jobs import JOBS
from sbert_app.jobs.fine_tune.preparing import EXAMPLES

pytestmark = pytest.mark.usefixtures("no_training_left", "quick_estimates", "short_checks")


@pytest.fixture(scope="module")
def client(app_url):
    return Client(app_url, verbose=False)


@pytest.fixture(scope="module")
def indexed(client):
    """The id of a corpus of these lines."""
    return lambda *lines: client.predict(lines="\n".join(lines), api_name="/index_corpus")["corpus"]


def test_only_jobs_are_public(client):
    endpoints = client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    assert set(endpoints) == {f"/{job.name}" for job in JOBS}


def test_similarity_and_models(client):
    result = client.predict("A cat sits.", "A kitten rests.", api_name="/similarity")
    assert result["in_words"].startswith("Close in ") and result["cautions"] == []
    assert result["score"] > 0.5 and abs(result["residual"]) < 1e-6 and result["links"][0]["word1"]
    assert client.predict(api_name="/models")[0]["name"] == "all-MiniLM-L6-v2"


def test_lines_and_a_file_are_indexed_searched_and_filtered(client, write):
    values = {"file": None, "lines": "a red car\na green apple", "columns": [], "model": "all-MiniLM-L6-v2"}
    corpus = client.predict(**values, api_name="/index_corpus")
    assert corpus["sentences"] == 2 and corpus["index"] == "exact"
    hits = client.predict(corpus["corpus"], "fruit", 1, api_name="/search")["hits"]
    assert hits[0]["sentence"] == "a green apple" and hits[0]["row"] == 2
    path = write("a.csv", "body,team\nthe parcel is late,Shipping\nthe invoice is wrong,Billing\n")
    corpus = client.predict(handle_file(str(path)), "", ["body"], "all-MiniLM-L6-v2", api_name="/index_corpus")
    result = client.predict(corpus["corpus"], "delivery", 5, {"team": "Billing"}, True, api_name="/search")
    assert [hit["metadata"] for hit in result["hits"]] == [{"team": "Billing"}]


def test_hits_are_reranked_and_a_pair_is_scored_by_the_cross_encoder(client, indexed):
    corpus = indexed("a red car", "a green apple", "the apple is green")
    result = client.predict(corpus, "an apple that is green", 2, None, False, True, api_name="/search")
    scores = [hit["cross_score"] for hit in result["hits"]]
    assert scores == sorted(scores, reverse=True) and len(scores) == 2
    assert "cross-encoder, 3 pairs" in result["milliseconds"]
    compared = client.predict("a cat", "a kitten", "all-MiniLM-L6-v2", "cross-MiniLM-L6-stsb", api_name="/similarity")
    assert 0 < compared["cross_encoder_score"] < 1


def test_duplicates_at_two_thresholds(client, indexed):
    corpus = indexed("the cat sleeps", "a parcel is late", "the cat sleeps", "the cat is sleeping")
    result = client.predict(corpus, 0.9, 2, api_name="/duplicates")
    assert [(pair["row1"], pair["row2"]) for pair in result["pairs"]] == [(1, 3), (1, 4)] and result["exact"]
    assert result["groups"] == [{"representative": 1, "rows": [1, 3, 4], "size": 3}] and result["redundant"] == 2
    again = client.predict(corpus, 1, 2, api_name="/duplicates")
    assert again["redundant"] == 1 and again["seconds"]["compare"] == result["seconds"]["compare"]


def test_encode_gives_a_list_for_few_and_a_file_for_all(client, write):
    answer, file = client.predict(None, "a red car\na green apple", [], "all-MiniLM-L6-v2", api_name="/encode")
    embeddings = np.load(file)
    assert embeddings.shape == (2, 384) and embeddings.dtype == np.float32
    assert np.allclose(embeddings, answer["embeddings"]) and answer["sentences"] == 2
    path = write("many.txt", "\n".join(f"sentence number {i}" for i in range(101)))
    answer, file = client.predict(handle_file(str(path)), api_name="/encode")
    assert np.load(file).shape == (101, 384) and answer["embeddings"] is None


def test_timing(client):
    lines = "\n".join(f"sentence number {i} about parcels and invoices" for i in range(30))
    job = client.submit(None, lines, [], 1_000, 1, "all-MiniLM-L6-v2", api_name="/timing")
    result = job.result(timeout=300)
    assert {"stage", "before"} == set(job.outputs()[0])
    assert result["pairs"] == 499_500 and result["conditions"]["sentences"] == 30
    assert result["cross-encoder"]["extrapolated_seconds"] > result["sbert"]["extrapolated_seconds"] > 0


def test_cluster_map(client, indexed):
    corpus = indexed(*(f"{what} number {i}" for i in range(12) for what in ("a red apple", "a fast car", "heavy rain")))
    result = client.predict(corpus, "3", api_name="/cluster_map")
    assert sorted(cluster["size"] for cluster in result["clusters"]) == [12, 12, 12]
    kinds = [point["cluster"] for point in result["places"]]
    assert kinds == kinds[:3] * 12 and result["projection"].startswith("UMAP")
    short = client.predict(corpus, "auto", "HDBSCAN", 5, False, api_name="/cluster_map")
    assert "places" not in short and short["points"] == 36


def test_fine_tune_and_evaluate(client, write):
    lines = (EXAMPLES / "messages_triplets.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    path = handle_file(str(write("messages.csv", "".join(lines[:101]))))
    job = client.submit(path, "triplet", "as in the paper", "all-MiniLM-L6-v2", "", api_name="/fine_tune")
    result = job.result(timeout=300)
    assert result["state"] == "finished" and result["model"].startswith("runs/")
    assert result["after"]["triplet_accuracy"] >= result["before"]["triplet_accuracy"] and result["verdict"]
    measured = client.predict(path, result["model"], ["sbert", "word-overlap"], api_name="/evaluate")
    assert measured["sbert"]["sentences"] == 300 and measured["word-overlap"]["triplet_accuracy"] < 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.predict(None, "", "quick", "all-MiniLM-L6-v2", "", api_name="/fine_tune"), "Send a file"),
        (lambda c: c.predict("guessed-id", "x", api_name="/search"), "This session has ended"),
        (lambda c: c.predict("guessed-id", "auto", api_name="/cluster_map"), "This session has ended"),
        (lambda c: c.predict("a", " ", api_name="/similarity"), "second sentence is blank"),
        (lambda c: c.predict(None, "", [], "all-MiniLM-L6-v2", api_name="/index_corpus"), "There are no lines yet"),
    ],
)
def test_mistakes_come_back_as_sentences(client, call, message):
    with pytest.raises(Exception, match=message):
        call(client)


def test_a_path_on_the_server_is_no_upload(client):
    stolen = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}, "orig_name": "passwd.txt"}
    with pytest.raises(Exception) as error:
        client.predict(stolen, "", [], "all-MiniLM-L6-v2", api_name="/index_corpus")
    assert "root:" not in str(error.value)
