"""The systems of an evaluation: SBERT and what the paper compares it with. Each scores examples; most also embed sentences."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sbert_app.errors import UserError
from sbert_app.labelled.example_set import Digests, Examples
from sbert_app.labelled.queries import Queries
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.models.files.layout import POOLINGS
from sbert_app.runtime.workbench import Workbench
from sbert_app.vectors import Array, Rows, Vectors

SBERT, CROSS, WORD_VECTORS, TF_IDF, OVERLAP = "sbert", "cross-encoder", "word-vectors", "tf-idf", "word-overlap"
SVR, LEARNS = "svr", "learns from the other folds of the same data"
RANKERS = BM25, HYBRID, MAXSIM, RERANKED = "bm25", "hybrid", "maxsim", "re-ranked"  # they rank documents, no more
POOLED = {f"sbert-{pooling}": pooling for pooling in POOLINGS}
RAW = {"bert-mean": "mean", "bert-cls": "cls"}  # a transformer that was never trained to compare sentences: its pooling
SYSTEMS = {  # what each is, and its place in the paper
    SBERT: "the cosine of the model's embeddings",
    **{name: f"the same model with {pooling} pooling, as in Table 6" for name, pooling in POOLED.items()},
    CROSS: "reads both sentences together; the paper's BERT in Tables 2 and 3",
    "bert-mean": "the average of BERT's outputs, without siamese training: Avg. BERT in Tables 1 and 5",
    "bert-cls": "BERT's first output, without siamese training: BERT CLS-vector in Tables 1 and 5",
    WORD_VECTORS: "the average of a sentence's word vectors, as GloVe in Table 1; without a file, of the model's input vectors",
    TF_IDF: "words weighted by how rare they are; the first row of Table 3; of classes, a linear classifier on them",
    OVERLAP: "the share of words that both sentences have",
    SVR: "a support-vector regressor over tf-idf and word overlap, as in Table 3; it learns from the data set itself, each fold "
    "from the other nine, by topics where there is such a column",
    BM25: "ranks documents by their words",
    HYBRID: "the model's cosines and BM25's scores added, each in standard deviations",
    MAXSIM: "the best 50 of hybrid, compared with the query token by token: what Search does",
    RERANKED: "the model's best 30 documents in the order of the cross-encoder",
}

BERT = "google-bert/bert-base-uncased"

Embed = Callable[..., Vectors]  # n sentences and, of an encoder, a prompt -> (n, dim)
Rank = Callable[[Queries], list[Rows]]
Score = Callable[[Examples, Sequence[str]], Array]


@dataclass(frozen=True)
class Choice:
    """The models that systems are made of. word_vectors: a GloVe file for the system of that name."""

    model: str = DEFAULT_ENCODER
    cross_encoder: str = DEFAULT_CROSS_ENCODER
    bert: str = BERT
    word_vectors: Path | None = None


@dataclass(frozen=True)
class System:
    """A system ready to score."""

    name: str
    model: str
    identity: str  # of its weights, equal only for systems with equal results
    scorer: Score | None = None  # see `score`
    embed: Embed | None = None  # None for a system that only scores pairs
    ranker: Rank | None = None  # see `rank`
    trained_on: Digests = field(default_factory=lambda: np.empty(0, np.uint64))  # digests of the pairs, as far as they are known
    apart: bool = False  # reads each sentence on its own, not pairs
    words: bool = False  # learns classes from words, not from embeddings

    def score(self, examples: Examples, subsets: Sequence[str] = ()) -> Array:
        """A score of each example, (n,), higher is closer; for triplets that of the positive minus that of the negative.

        subsets: of each example; a system that learns from the data set scores one by the others. Raises UserError if it cannot.
        """
        if examples.kind == "positives" and self.embed is None:
            raise UserError("Scores pairs only: cannot find a sentence's partner among all sentences.")
        if self.scorer is None:
            raise UserError("Ranks documents only: there are none here.")
        return self.scorer(examples, subsets)

    def rank(self, data: Queries) -> list[Rows]:
        """The best documents of each query, best first. Raises UserError for a system that cannot rank."""
        if self.ranker is None:
            raise UserError("Scores pairs only: use bm25 to rank documents by their words.")
        return self.ranker(data)


def check_names(bench: Workbench, systems: Sequence[str]) -> None:
    """Raise UserError for a name that is neither one of SYSTEMS nor a model, or for no name."""
    models = {info.name for info in bench.registry.list()}
    unknown = [name for name in systems if name not in SYSTEMS and name not in models and "/" not in name]
    if unknown or not systems:
        raise UserError(
            f"Unknown system {(unknown or [''])[0]!r}. Must be one of {', '.join(SYSTEMS)}, or a model's name, "
            "or its folder, such as ./NAME."
        )
