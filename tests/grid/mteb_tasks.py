"""Data sets of this app as tasks of mteb, to have its measures beside ours. Needs mteb; nothing is fetched."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTaskPairClassification, AbsTaskRetrieval, AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.model_meta import ModelMeta

from sbert_app.grid.data_set import DataSet
from sbert_app.grid.ranking import Retrieval
from sbert_app.labelled.queries import Queries

Encode = Callable[[list[str]], np.ndarray]
KINDS = {  # the app's task: mteb's class, its name of the type, its main score
    "scored": (AbsTaskSTS, "STS", "cosine_spearman"),
    "labelled": (AbsTaskPairClassification, "PairClassification", "similarity_ap"),
    "retrieval": (AbsTaskRetrieval, "Retrieval", "ndcg_at_10"),
}
UNKNOWN = ("date", "domains", "task_subtypes", "license", "annotations_creators", "dialect", "sample_creation", "bibtex_citation")


class OurEncoder:
    """A function from sentences to vectors, (n, dim), as mteb calls encoders."""

    mteb_model_meta = ModelMeta.create_empty({"name": "sbert-studio/encoder", "revision": "1"})

    def __init__(self, encode: Encode) -> None:
        self._encode = encode

    def encode(self, inputs: Any, **_: Any) -> np.ndarray:
        return np.asarray(self._encode([text for batch in inputs for text in batch["text"]]), np.float64)

    def similarity(self, first: Any, second: Any) -> np.ndarray:
        return _unit(first) @ _unit(second).T

    def similarity_pairwise(self, first: Any, second: Any) -> np.ndarray:
        return (_unit(first) * _unit(second)).sum(1)


def scores(encode: Encode, data: DataSet, folder: Path) -> dict[str, float]:
    """The measures that mteb computes for these vectors on the test split."""
    result = mteb.evaluate(
        OurEncoder(encode), task(data), cache=None, overwrite_strategy="always", prediction_folder=folder, show_progress_bar=False
    )
    (measured,) = result.task_results[0].scores["test"]
    return measured


def task(data: DataSet) -> Any:
    """The data set as a task of mteb."""
    base, kind, main_score = KINDS[data.task]
    metadata = TaskMetadata(
        name="SbertStudio", type=kind, main_score=main_score, dataset={"path": "local/sbert-studio", "revision": data.digest},
        category="t2t", modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"], description=data.name, reference=None,
        **dict.fromkeys(UNKNOWN),
    )  # fmt: skip

    def load_data(self: Any, num_proc: int | None = None, **_: Any) -> None:
        self.dataset, self.data_loaded = _content(data), True

    return type("SbertStudio", (base,), {"metadata": metadata, "load_data": load_data})()


def _content(data: DataSet) -> Any:
    if isinstance(data, Retrieval):
        return _retrieval(data.queries)
    first, second = data.examples.sentences
    gold = data.examples.gold
    answers = {"score": (5 * gold).tolist()} if data.task == "scored" else {"labels": gold.astype(int).tolist()}
    return DatasetDict(test=Dataset.from_dict({"sentence1": first, "sentence2": second, **answers}))


def _retrieval(data: Queries) -> dict[str, Any]:
    """The corpus with ids d0, d1, …, the queries q0, q1, …; of candidates, those of each query."""
    documents = [f"d{row}" for row in range(len(data.documents))]
    queries = [f"q{number}" for number in range(len(data.queries))]
    relevant = [{f"d{row}": int(gain) for row, gain in gains.items()} for gains in data.relevant]
    candidates = None if data.candidates is None else [[f"d{row}" for row in rows.tolist()] for rows in data.candidates]
    part = {
        "corpus": Dataset.from_dict({"id": documents, "title": [""] * len(documents), "text": data.documents}),
        "queries": Dataset.from_dict({"id": queries, "text": data.queries}),
        "relevant_docs": dict(zip(queries, relevant, strict=True)),
        "top_ranked": None if candidates is None else dict(zip(queries, candidates, strict=True)),
    }
    return {"default": {"test": part}}


def _unit(vectors: Any) -> np.ndarray:
    values = np.asarray(vectors, np.float64)
    return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
