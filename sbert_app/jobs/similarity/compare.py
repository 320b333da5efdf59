"""Compare sentences: similarity score, its percentile among random pairs, and an explanation by words."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.ranking.lexical import word_overlap
from sbert_app.errors import UserError
from sbert_app.explain.attribution import Attribution, leave_one_out, split_mean_pooled
from sbert_app.explain.cautions import Caution, cautions
from sbert_app.explain.scale import Scale
from sbert_app.jobs.search.languages import pieces_of
from sbert_app.jobs.similarity.second_opinion import ModelScore, second_opinion
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.models.pooling import POOLINGS
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.vectors import Vectors, cosine, unit_rows

if TYPE_CHECKING:
    from sbert_app.explain.attribution import TokenVectors
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.files.listing import ModelInfo

LEAVE_ONE_OUT_WORDS = 64  # leave-one-out costs two forward passes per word: longer sentences are not explained


@dataclass(frozen=True)
class Comparison:
    """Two sentences compared. `score` and `poolings` are cosines, `word_overlap` is 0..1, `percentile` 0..100."""

    sentences: tuple[str, str]
    score: float
    in_words: str  # such as "Close in topic: higher than 99.1 % of random pairs of field_notes.csv"
    cautions: tuple[str, ...]  # what the score does not tell, one sentence each
    scale: Scale | None
    pooling: str
    poolings: dict[str, float]
    word_overlap: float
    attribution: Attribution | None
    notes: tuple[str, ...]
    milliseconds: float  # of the whole comparison
    encode_milliseconds: float  # of both sentences, part of `milliseconds`
    waited: float  # milliseconds of waiting for the device, not part of `milliseconds`
    cross_encoder: ModelScore | None = None
    other: ModelScore | None = None

    @property
    def percentile(self) -> float | None:
        """Percentage of random pairs that score lower."""
        return self.scale.random.percentile(self.score) if self.scale else None

    @property
    def calibrated_on(self) -> str:
        """The corpus of the random pairs."""
        return self.scale.random.name if self.scale else ""


@dataclass(frozen=True)
class ListComparison:
    """Scores of two lists: scores[i, j] is the cosine of sentences1[i] and sentences2[j]."""

    sentences1: list[str]
    sentences2: list[str]
    scores: Vectors
    milliseconds: float

    def best(self, count: int) -> list[tuple[float, str, str]]:
        """The closest pairs, best first."""
        order = np.argsort(-self.scores, axis=None, kind="stable")[:count]
        rows, columns = np.unravel_index(order, self.scores.shape)
        cells = zip(rows.tolist(), columns.tolist(), strict=True)
        return [(float(self.scores[i, j]), self.sentences1[i], self.sentences2[j]) for i, j in cells]


class SimilarityService:
    """Stateless apart from the workbench: sentences are not kept."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._was_ready = False

    def compare(self, sentence1: str, sentence2: str, model: str = DEFAULT_ENCODER, session: Session | None = None) -> Comparison:
        """Score two sentences and explain the score. Raises UserError for a blank sentence or an unknown model."""
        sentences = self._sentence(sentence1, "first"), self._sentence(sentence2, "second")
        encoder = self._bench.registry.encoder(model)
        scale = self._scale(encoder, session)
        start = time.perf_counter()  # after loading and calibration, which happen once per model and corpus
        with self._bench.device.hold(short=True) as waited:
            tokens1, tokens2 = encoder.token_vectors(sentences)
        encoded = time.perf_counter()
        poolings = {p: cosine(encoder.pool(tokens1, p), encoder.pool(tokens2, p)) for p in POOLINGS}
        score = poolings[encoder.layout.pooling]
        noticed = cautions(*sentences, (pieces_of(encoder, tokens1), pieces_of(encoder, tokens2)))
        attribution = self._attribution(encoder, tokens1, tokens2, sentences)
        return Comparison(
            sentences=sentences,
            score=score,
            in_words=_in_words(scale, score, noticed),
            cautions=(*(caution.text for caution in noticed), *_truncation(encoder, tokens1, tokens2)),
            scale=scale,
            pooling=encoder.layout.pooling,
            poolings=poolings,
            word_overlap=word_overlap(*sentences),
            attribution=attribution,
            notes=(encoder.note,) if encoder.note else (),
            milliseconds=(time.perf_counter() - start - waited) * 1e3,
            encode_milliseconds=(encoded - start - waited) * 1e3,
            waited=waited * 1e3,
        )

    def cross_encode(self, sentence1: str, sentence2: str, cross_encoder: str = DEFAULT_CROSS_ENCODER) -> ModelScore:
        """Score a pair with a cross-encoder or poly-encoder, higher is closer. Raises UserError for one with several labels."""
        pair = self._sentence(sentence1, "first"), self._sentence(sentence2, "second")
        return second_opinion(self._bench, pair, cross_encoder)

    def encoder_score(self, sentence1: str, sentence2: str, model: str, session: Session | None = None) -> ModelScore:
        """Another encoder's cosine of a pair, and its place among random pairs under that encoder."""
        sentences = [self._sentence(sentence1, "first"), self._sentence(sentence2, "second")]
        encoder = self._bench.registry.encoder(model)
        scale = self._scale(encoder, session)
        with self._bench.device.hold(short=True):
            start = time.perf_counter()
            embeddings = encoder.encode(sentences)
            milliseconds = (time.perf_counter() - start) * 1e3
        score = cosine(*embeddings)
        words = _in_words(scale, score, cautions(sentences[0], sentences[1]))
        return ModelScore(model, score, milliseconds, in_words=words, scale=scale)

    def is_ready(self, cross_encoder: str) -> bool:
        """Whether to score a pair now. False only for the bundled one until the app has loaded it in the background."""
        self._was_ready = self._was_ready or self._bench.registry.loaded("cross-encoder", DEFAULT_CROSS_ENCODER)
        return cross_encoder != DEFAULT_CROSS_ENCODER or self._was_ready

    def pair_scorers(self) -> Sequence["ModelInfo"]:
        """The available cross-encoders and poly-encoders that give a pair one score."""
        return self._bench.registry.pair_scorers()

    def encoders(self) -> list[str]:
        """Names of the available encoders."""
        return list(self._bench.registry.encoders())

    def compare_lists(self, lines1: str, lines2: str, model: str = DEFAULT_ENCODER) -> ListComparison:
        """Score every line of one text against every line of the other. Raises UserError for too many lines."""
        encoder = self._bench.registry.encoder(model)
        start = time.perf_counter()
        list1, list2 = self._lines(lines1, "first"), self._lines(lines2, "second")
        embeddings = unit_rows(self._bench.device.encode(encoder, list1 + list2))
        scores = embeddings[: len(list1)] @ embeddings[len(list1) :].T
        return ListComparison(list1, list2, scores, (time.perf_counter() - start) * 1e3)

    def _attribution(
        self, encoder: "Encoder", tokens1: "TokenVectors", tokens2: "TokenVectors", sentences: Sequence[str]
    ) -> Attribution | None:
        if encoder.layout.pooling == "mean" and not encoder.layout.dense:
            return split_mean_pooled(tokens1, tokens2)
        if max(len(tokens1.words), len(tokens2.words)) > LEAVE_ONE_OUT_WORDS:
            return None
        with self._bench.device.hold(short=True):
            (words1, without1), (words2, without2) = (encoder.leave_one_out(sentence) for sentence in sentences)
        full1, full2 = (encoder.pool(tokens, encoder.layout.pooling) for tokens in (tokens1, tokens2))
        return leave_one_out((words1, words2), (full1, full2), (without1, without2))

    def _sentence(self, text: str, which: str) -> str:
        return validation.sentence(text, f"{which} sentence", self._bench.settings.limits, "Type something to compare.")

    def _lines(self, text: str, which: str) -> list[str]:
        text, limits = validation.text(text, f"{which} list"), self._bench.settings.limits
        lines = [line.strip()[: limits.sentence_characters] for line in text.split("\n") if line.strip()]
        if not lines:
            raise UserError(f"The {which} list is blank. Type one sentence per line.")
        if len(lines) > limits.list_sentences:
            raise UserError(
                f"The {which} list has {len(lines):,} sentences, the limit is {limits.list_sentences}. "
                "For longer lists, use the Search tab."
            )
        return lines

    def _scale(self, encoder: "Encoder", session: Session | None) -> Scale | None:
        """What this encoder's scores mean, by the visitor's corpus if the encoder embedded it."""
        corpus = session.get(IndexedCorpus) if session else None
        return self._bench.examples.scale(encoder, corpus)


def _in_words(scale: Scale | None, score: float, noticed: Sequence[Caution]) -> str:
    return scale.sentence(score, scale.verdict(score, [caution.kind for caution in noticed])) if scale else ""


def _truncation(encoder: "Encoder", *tokens: "TokenVectors") -> list[str]:
    truncated = any(sentence.truncated for sentence in tokens)
    return [f"Only the first {encoder.max_length} tokens of each sentence were read: the model's limit."] if truncated else []
