"""Is it right? STS and SICK-R against sentence-transformers, in fp32 and bf16; SciFact re-ranked."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer
from sklearn.metrics import ndcg_score

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import read_corpus
from sbert_app.evaluation.agreement import spearman
from sbert_app.jobs.search.job import RERANKED
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, bundled_folder
from sbert_app.models.registry import Registry
from sbert_app.settings import Limits, Settings
from sbert_app.tables import read_table
from sbert_app.vectors import unit_rows
from tests.benchmarks import data

ODD = ["", " ", "😀", "🧑‍💻 emoji in a sentence 🎉", "مرحبا بالعالم", "word " * 5_000, "x" * 100_000, "[SEP] [CLS]", "null", "NaN"]


def interop(count: int = 2_000) -> dict[str, float]:
    """Embeddings beside sentence-transformers': largest difference in fp32, smallest cosine in bf16."""
    sentences = [*ODD, *data.many_sentences(count - len(ODD))]
    folder = bundled_folder()
    oracle = SentenceTransformer(str(folder), device="cpu").encode(sentences)
    ours = {p: Encoder.from_folder(folder, choose_hardware("cpu", p)).encode(sentences) for p in ("fp32", "bf16")}
    return {
        "sentences": len(sentences),
        "fp32_max_abs_difference": float(np.abs(ours["fp32"] - oracle).max()),
        "bf16_min_cosine": float(np.einsum("nd,nd->n", unit_rows(ours["bf16"]), unit_rows(oracle)).min()),
    }


def sts() -> dict[str, dict[str, float]]:
    """Spearman ×100 by set: the oracle, and this app in both precisions. All pairs of a year together."""
    folder = bundled_folder()
    systems = {
        "sentence-transformers fp32": SentenceTransformer(str(folder), device="cpu").encode,
        **{precision: Encoder.from_folder(folder, choose_hardware("cpu", precision)).encode for precision in ("fp32", "bf16")},
    }
    results: dict[str, dict[str, float]] = {}
    for name in data.STS:
        first, second, gold = data.pairs(name)
        for system, encode in systems.items():
            scores = np.einsum("nd,nd->n", unit_rows(encode(first)), unit_rows(encode(second)))
            results.setdefault(name, {})[system] = 100 * spearman(scores, gold)
    return results


def by_engine(encoders: Mapping[str, Encoder]) -> dict[str, Any]:
    """Spearman ×100 by set and system, and each system's smallest cosine to the embeddings of the last, over all sentences."""
    scores: dict[str, dict[str, float]] = {}
    smallest = dict.fromkeys(encoders, 1.0)
    for name in data.STS:
        first, second, gold = data.pairs(name)
        embeddings = {system: unit_rows(encoder.encode([*first, *second])) for system, encoder in encoders.items()}
        reference = list(embeddings.values())[-1]
        for system, rows in embeddings.items():
            cosines = np.einsum("nd,nd->n", rows[: len(first)], rows[len(first) :])
            scores.setdefault(name, {})[system] = 100 * spearman(cosines, gold)
            smallest[system] = min(smallest[system], float(np.einsum("nd,nd->n", rows, reference).min()))
    return {"spearman_x100": scores, "smallest_cosine": smallest, "to": list(encoders)[-1]}


class SciFact:
    """The corpus, indexed; its 300 test claims with their vectors; which documents are relevant to a claim."""

    def __init__(self) -> None:
        table = read_table(data.DATA / "retrieval_scifact" / "corpus.tsv.gz", Limits())
        corpus = read_corpus(table, ["title", "text"], Limits())  # a document is its title and its text
        encoder = Encoder.from_folder(bundled_folder(), choose_hardware())
        self.ids = corpus.metadata["doc_id"].tolist()
        self.indexed = IndexedCorpus.build(corpus, "", "", encoder.encode(corpus.sentences))
        self.relevance: dict[str, dict[str, float]] = {}
        for row in data.rows("retrieval_scifact/qrels_test"):
            self.relevance.setdefault(row["query_id"], {})[row["doc_id"]] = float(row["relevance"])
        queries = [(row["query_id"], row["text"]) for row in data.rows("retrieval_scifact/queries_test")]
        vectors = unit_rows(encoder.encode([text for _, text in queries]))
        self.claims = [(name, text, vector) for (name, text), vector in zip(queries, vectors, strict=True)]

    def gain(self, claim: str, rows: Iterable[int]) -> float:
        """nDCG@10 of a ranking."""
        relevant, scores = self.relevance[claim], np.zeros(len(self.ids))
        for place, row in enumerate(rows):
            scores[row] = 1 / (1 + place)
        return float(ndcg_score([[relevant.get(name, 0.0) for name in self.ids]], [scores], k=10))


def reranked(claims: int = 100) -> dict[str, object]:
    """nDCG@10 over the first claims, before and after the cross-encoder read the best 30 of each. Takes minutes."""
    task, cross = SciFact(), Registry(Settings(Path())).cross_encoder(DEFAULT_CROSS_ENCODER)
    before, after = [], []
    for claim, text, vector in task.claims[:claims]:
        ranked = task.indexed.rank(vector, text, RERANKED, {}).rows
        scores = cross.score([(text, task.indexed.corpus.sentences[i]) for i in ranked.tolist()])
        before.append(task.gain(claim, ranked))
        after.append(task.gain(claim, ranked[np.argsort(-scores, kind="stable")]))
    return {"claims": claims, "dense": float(np.mean(before)), "dense, re-ranked": float(np.mean(after))}


def cross_encoder() -> float:
    """STSb test, Spearman x100, of the bundled one."""
    first, second, gold = data.pairs("stsb/test")
    cross = Registry(Settings(Path())).cross_encoder(DEFAULT_CROSS_ENCODER)
    return 100 * spearman(cross.score(list(zip(first, second, strict=True))), gold)


def report() -> dict[str, object]:
    return {
        "interop": interop(),
        "spearman_x100": sts(),
        "cross_encoder_stsb_test_x100": cross_encoder(),
    }
