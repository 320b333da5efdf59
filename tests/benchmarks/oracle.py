"""Are the evaluation's figures right? The default encoder beside mteb and sentence-transformers, on STS and SciFact.

`python -m tests.benchmarks.oracle FOLDER [SET …]`: a folder with sts/, stsb/, sick/ and retrieval_scifact/. All figures × 100: this
app's; mteb's for this app's vectors, so that only the measures may differ; mteb's, and those of sentence-transformers' own
evaluator, for the vectors of sentence-transformers in fp32. SBERT_STUDIO_PRECISION=fp32 makes this app's vectors fp32 too.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator, InformationRetrievalEvaluator

from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import DataSet
from sbert_app.grid.loading import of_encoder
from sbert_app.grid.reading import read_data_set, read_folder
from sbert_app.models.files.finding import DEFAULT_ENCODER, bundled_folder
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Limits, Settings
from sbert_app.tables import read_table
from sbert_app.vectors import in_order
from tests.benchmarks.timing import show
from tests.grid import mteb_tasks

FILES = {"STSb": "stsb/test", "SICK-R": "sick/test", **{f"STS{year}": f"sts/sts{year}_test" for year in (12, 13, 14, 15)}}
SCIFACT = "retrieval_scifact"
Encode = Callable[[Sequence[str]], np.ndarray]
MEASURES = {  # ours: mteb's, sentence-transformers'
    "spearman": ("cosine_spearman", "spearman_cosine"),
    "pearson": ("cosine_pearson", "pearson_cosine"),
    "ndcg_at_10": ("ndcg_at_10", "cosine_ndcg@10"),
    "mrr_at_10": ("mrr_at_10", "cosine_mrr@10"),
    "recall_at_100": ("recall_at_100", "cosine_recall@100"),
}


def remembered(encode: Encode) -> Encode:
    """The same function from sentences to vectors, which computes each sentence once."""
    vectors: dict[str, np.ndarray] = {}

    def look_up(sentences: Sequence[str]) -> np.ndarray:
        if new := [sentence for sentence in dict.fromkeys(sentences) if sentence not in vectors]:
            vectors.update(zip(new, encode(new), strict=True))
        return np.stack([vectors[sentence] for sentence in sentences])

    return look_up


def data_sets(folder: Path, names: Sequence[str]) -> Iterator[DataSet]:
    """Sets with scored pairs, and SciFact."""
    for name in names:
        if name in FILES:
            yield read_data_set(read_table(folder / f"{FILES[name]}.tsv.gz", Limits()), Limits(), name)
        else:
            yield from read_folder(folder / SCIFACT, Limits())


def evaluator(data: DataSet) -> Callable[[SentenceTransformer], dict[str, float]]:
    """sentence-transformers' own measurement of a data set."""
    if data.task == "scored":
        return EmbeddingSimilarityEvaluator(*data.examples.sentences, data.examples.gold.tolist(), similarity_fn_names=["cosine"])
    queries, documents = ({str(row): text for row, text in enumerate(texts)} for texts in data.columns)
    relevant = {str(number): {str(row) for row in gains} for number, gains in enumerate(data.queries.relevant)}
    depths = {"mrr_at_k": [10], "ndcg_at_k": [10], "accuracy_at_k": [10], "precision_recall_at_k": [100], "map_at_k": [100]}
    return InformationRetrievalEvaluator(queries, documents, relevant, **depths)


def rows(folder: Path, names: Sequence[str], precision: str) -> Iterator[tuple[str, str, float, float, float, float]]:
    """Data set, measure, and its values × 100: ours, mteb's for our vectors, mteb's, sentence-transformers'."""
    oracle = SentenceTransformer(str(bundled_folder()), device="cpu")
    with tempfile.TemporaryDirectory() as home:
        place = Path(home)
        bench = Workbench(Settings(home=place, device="cpu", precision=precision))
        encoder = bench.registry.encoder(DEFAULT_ENCODER)
        ours = remembered(lambda texts: in_order(bench.device.stream(encoder, texts), len(texts), encoder.dim))
        device = SimpleNamespace(stream=lambda _, texts, prompt="": [(np.arange(len(texts)), ours([prompt + t for t in texts]))])
        system = of_encoder(SimpleNamespace(device=device), encoder)
        theirs = remembered(oracle.encode)
        oracle.encode = lambda sentences, **_: theirs(sentences)
        for data in data_sets(folder, names):
            cell = measure_cell(system, data)
            same, independent = (mteb_tasks.scores(encode, data, place) for encode in (ours, theirs))
            evaluated = evaluator(data)(oracle)
            for name, value in cell.measures.items():
                of_mteb, of_st = MEASURES[name]
                yield data.name, name, *(100 * v for v in (value, same[of_mteb], independent[of_mteb], evaluated[of_st]))


def main(folder: Path, names: Sequence[str]) -> None:
    precision = os.environ.get("SBERT_STUDIO_PRECISION", "auto")
    head = "data set", "measure", f"ours ({precision})", "mteb, our vectors", "−", "mteb", "−", "sentence-transformers", "−"
    compared = (
        (data, measure, f"{ours:.4f}", *(cell for value in others for cell in (f"{value:.4f}", f"{ours - value:+.4f}")))
        for data, measure, ours, *others in rows(folder, names, precision)
    )
    show(head, compared)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= {*FILES, SCIFACT}:
        raise SystemExit(f"Usage: python -m tests.benchmarks.oracle FOLDER [{' | '.join((*FILES, SCIFACT))}] …")
    main(Path(sys.argv[1]), sys.argv[2:] or [*FILES, SCIFACT])
