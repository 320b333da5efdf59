"""What a cross-encoder was trained for, by its name, its card and its config: the evidence of public models, shortened."""

import pytest

from sbert_app.models.files.card import write_card
from sbert_app.models.files.finding import CROSS_ENCODER
from sbert_app.models.files.trained_for import (
    ANSWERS,
    LIKENESS,
    UNKNOWN,
    in_words,
    label_count,
    label_names,
    read_card,
    trained_for,
)

EVERY = "tags:\n- sentence-transformers\n- cross-encoder\n- reranker\n- generated_from_trainer\npipeline_tag: text-ranking\n"
NLI = {"id2label": {"0": "contradiction", "1": "entailment", "2": "neutral"}}


def card(front="", text=""):
    return f"---\n{front}\n---\n\n# A model\n\n{text}\n"


# Of qnli: whether a passage holds the answer. Folders above say nothing, a data set outweighs the fashionable word; nli, trec, sts
# within words are no data sets, and two that contradict each other say nothing.
NAMES = {
    ANSWERS: """
        cross-encoder/ms-marco-MiniLM-L6-v2 cross-encoder/msmarco-MiniLM-L12-en-de-v1 cross-encoder/ms-marco-TinyBERT-L2
        nreimers/mmarco-mMiniLMv2-L12-H384-v1 BAAI/bge-reranker-base mixedbread-ai/mxbai-rerank-xsmall-v1
        cross-encoder/qnli-electra-base /home/me/quora/bge-reranker C:\\models\\my-reranker\\ """,
    LIKENESS: """
        cross-encoder/stsb-roberta-base cross-encoder/quora-distilroberta-base cross-encoder/nli-deberta-v3-base
        me/allnli-small tomaarsen/reranker-distilroberta-base-stsb me/paraphrase-judge""",
    UNKNOWN: "me/mine me/online-trecker-costs me/stsb-and-msmarco",
}


@pytest.mark.parametrize(("name", "kind"), [("", UNKNOWN), *((name, kind) for kind in NAMES for name in NAMES[kind].split())])
def test_the_name_is_evidence(name, kind):
    assert trained_for(name, {}) == kind


@pytest.mark.parametrize(
    ("front", "text", "kind"),
    [
        ("datasets:\n- sentence-transformers/stsb\npipeline_tag: text-ranking\nlicense: mit", "", LIKENESS),
        ("datasets: [sentence-transformers/gooaq]", "", ANSWERS),
        (f"{EVERY}datasets:\n- sentence-transformers/stsb", "", LIKENESS),
        (EVERY, "", UNKNOWN),  # the library writes this into the card of every model
        (EVERY, "A model finetuned from [x](y) on the [msmarco](z) dataset. It can be used for text reranking.", ANSWERS),
        (EVERY, "This model was trained on the [STS benchmark](x). It is better than a model for MS MARCO.", LIKENESS),
        (f"{EVERY}model-index:\n- name: x\n  results:\n  - task:\n      type: cross-encoder-reranking", "", ANSWERS),
        (f"{EVERY}model-index:\n- name: x\n  results:\n  - task:\n      type: cross-encoder-correlation", "", LIKENESS),
        (f"{EVERY}base_model: cross-encoder/ms-marco-MiniLM-L6-v2", "", ANSWERS),
        ("tags: [text-ranking]", "", ANSWERS),
        ("tags:\n  - sentence-similarity", "", LIKENESS),
        ("datasets: [ms_marco, stsb]\ntags: [paraphrase-mining]", "", LIKENESS),  # both say nothing: the next evidence decides
        ("", "It was not compared on MS MARCO.", UNKNOWN),
    ],
)
def test_the_card_is_evidence(front, text, kind):
    assert trained_for("org/mine", {}, card(front, text)) == kind


def test_the_config_is_evidence_and_what_it_says_is_put_into_words():
    assert trained_for("mine", NLI) == LIKENESS
    assert trained_for("mine", {"_name_or_path": "cross-encoder/ms-marco-MiniLM-L6-v2"}) == ANSWERS
    assert trained_for("mine", {"_name_or_path": None, "id2label": [1]}) == UNKNOWN
    assert (in_words(ANSWERS), in_words(UNKNOWN)) == ("trained for answers", "trained for an unknown task")


def test_what_this_app_saves_or_brings_is_for_likeness_unless_its_card_names_other_data(tmp_path):
    write_card(tmp_path, "mine", {"pairs": "1,000"})
    assert trained_for("mine", {}, read_card(tmp_path)) == LIKENESS
    write_card(tmp_path, "mine", {"trained on": "ms_marco.tsv"})
    assert trained_for("mine", {}, read_card(tmp_path)) == ANSWERS
    assert trained_for("a copy", {}, read_card(CROSS_ENCODER)) == LIKENESS


@pytest.mark.parametrize(
    "content", [b"", b"---", b"---\n---", b"---\ndatasets", b"\xff\xfe---\n", b"\xef\xbb\xbf---\ntags: x\n---\n"]
)
def test_a_card_of_any_bytes_is_read(tmp_path, content):
    (tmp_path / "README.md").write_bytes(content)
    assert trained_for("mine", {}, read_card(tmp_path)) == UNKNOWN


def test_a_folder_without_a_card_or_with_a_folder_in_its_place_has_none(tmp_path):
    assert read_card(tmp_path) == ""
    (tmp_path / "README.md").mkdir()
    assert read_card(tmp_path) == ""


@pytest.mark.parametrize(("config", "count", "names"), [
    (NLI, 3, ["contradiction", "entailment", "neutral"]), ({"id2label": {"0": "LABEL_0"}}, 1, []), ({"num_labels": 4}, 4, []),
    ({}, 2, []), ({"id2label": {"0": "0", "1": "1"}}, 2, []), ({"id2label": None, "num_labels": "many"}, 2, []),  # as transformers
])  # fmt: skip
def test_labels_are_counted_and_named(config, count, names):
    assert (label_count(config), label_names(config)) == (count, names)
