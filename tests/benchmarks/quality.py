"""Is it right? STS and SICK-R against sentence-transformers, in fp32 and bf16; SciFact dense and hybrid."""

from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import read_corpus
from sbert_app.evaluation.scores import ndcg, spearman
from sbert_app.models.encoder import Encoder
from sbert_app.models.hardware import choose_hardware
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER, Registry, bundled_folder
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


def scifact() -> dict[str, float]:
    """nDCG@10 over the 300 test claims; a document is its title and its text."""
    table = read_table(data.DATA / "retrieval_scifact" / "corpus.tsv.gz", Limits())
    corpus = read_corpus(table, ["title", "text"], Limits())
    ids = corpus.metadata["doc_id"].tolist()
    encoder = Encoder.from_folder(bundled_folder(), choose_hardware("cpu"))
    indexed = IndexedCorpus.build(corpus, "", "", encoder.encode(corpus.sentences))
    relevance: dict[str, dict[str, float]] = {}
    for row in data.rows("retrieval_scifact/qrels_test"):
        relevance.setdefault(row["query_id"], {})[row["doc_id"]] = float(row["relevance"])
    queries = {row["query_id"]: row["text"] for row in data.rows("retrieval_scifact/queries_test")}
    vectors = unit_rows(encoder.encode(list(queries.values())))
    gains: dict[str, list[float]] = {"dense": [], "hybrid": [], "BM25 alone": []}
    for (query_id, text), vector in zip(queries.items(), vectors, strict=True):
        for mode in ("dense", "hybrid"):
            ranked = indexed.rank(vector, text, 10, {}, hybrid=mode == "hybrid").rows
            gains[mode].append(ndcg([ids[i] for i in ranked], relevance[query_id]))
        lexical = np.argsort(-indexed.lexical.scores(text))[:10]
        gains["BM25 alone"].append(ndcg([ids[i] for i in lexical], relevance[query_id]))
    return {mode: float(np.mean(values)) for mode, values in gains.items()}


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
        "scifact_ndcg_at_10": scifact(),
    }
