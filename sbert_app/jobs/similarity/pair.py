"""Compare two sentences: the score, its percentile among random pairs, other models' scores, and an explanation by words."""

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.explain.cautions import PLACES, cautions
from sbert_app.explain.scale import Scale
from sbert_app.explain.words import Attribution, TokenVectors, leave_one_out, split_mean_pooled, word_overlap
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.models.files.layout import POOLINGS
from sbert_app.models.files.trained_for import Bounds
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.vectors import cosine

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

LEAVE_ONE_OUT_WORDS = 64  # leave-one-out costs two forward passes per word: longer sentences are not explained


@dataclass(frozen=True)
class ModelScore:
    """Another model's score of the same two sentences: a cross-encoder's score or another encoder's cosine."""

    model: str
    score: float
    milliseconds: float  # of the model alone, without waiting
    kind: str = "encoder"
    trained_for: str = ""  # of a cross-encoder
    bounds: Bounds | None = None  # of a cross-encoder: the lowest and the highest score, None for logits
    in_words: str = ""
    scale: Scale | None = None  # of an encoder


@dataclass(frozen=True)
class Comparison:
    """Two sentences compared. `score` and `poolings` are cosines, `word_overlap` is 0..1."""

    sentences: tuple[str, str]
    score: float
    in_words: str  # such as "Close in topic: higher than 99.1 % of random pairs of field_notes.csv"
    cautions: tuple[str, ...]  # what the score does not tell, one sentence each
    scale: Scale
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


def compare(
    bench: Workbench,
    session: Session,
    sentence1: str,
    sentence2: str,
    model: str = DEFAULT_ENCODER,
    cross_encoder: str = "",
    other: str = "",
    wait: bool = True,
) -> Comparison:
    """Score two sentences, explain the score, and add those of a cross-encoder and of another encoder, where named.

    wait: False leaves out the bundled cross-encoder until the app has loaded it in the background.
    """
    pair = sentence1, sentence2
    compared = _explained(bench, session, pair, bench.registry.encoder(model))
    ready = wait or cross_encoder != DEFAULT_CROSS_ENCODER or bench.registry.was_loaded("cross-encoder", cross_encoder)
    if cross_encoder and ready:
        compared = replace(compared, cross_encoder=_cross_encoded(bench, pair, cross_encoder))
    return replace(compared, other=_encoded(bench, session, pair, other)) if other else compared


def _explained(bench: Workbench, session: Session, pair: tuple[str, str], encoder: "Encoder") -> Comparison:
    scale = bench.examples.scale(encoder, session.get(IndexedCorpus))
    start = time.perf_counter()  # after loading and calibration, which happen once per model and corpus
    with bench.device.hold(short=True) as waited:
        tokens = tokens1, tokens2 = encoder.token_vectors(pair)
    encoded = time.perf_counter()
    poolings = {p: cosine(encoder.pool(tokens1.vectors, p), encoder.pool(tokens2.vectors, p)) for p in POOLINGS}
    score = poolings[encoder.layout.pooling]
    noticed = cautions(*pair, tokens, encoder.pieces_a_sample_word)
    cut = " and ".join(place for place, each in zip(PLACES, tokens, strict=True) if each.truncated)
    truncated = f"Of the {cut} sentence only the first {encoder.max_length} tokens were read: the model's limit."
    return Comparison(
        sentences=pair,
        score=score,
        in_words=scale.sentence(score, [caution.kind for caution in noticed]),
        cautions=(*(caution.text for caution in noticed), *([truncated] if cut else [])),
        scale=scale,
        pooling=encoder.layout.pooling,
        poolings=poolings,
        word_overlap=word_overlap(*pair),
        attribution=_attribution(bench, encoder, pair, tokens1, tokens2),
        notes=(encoder.note,) if encoder.note else (),
        milliseconds=(time.perf_counter() - start - waited) * 1e3,
        encode_milliseconds=(encoded - start - waited) * 1e3,
        waited=waited * 1e3,
    )


def _attribution(
    bench: Workbench, encoder: "Encoder", pair: tuple[str, str], tokens1: TokenVectors, tokens2: TokenVectors
) -> Attribution | None:
    if encoder.layout.pooling == "mean" and not encoder.layout.dense:
        return split_mean_pooled(tokens1, tokens2)
    if max(len(tokens1.words), len(tokens2.words)) > LEAVE_ONE_OUT_WORDS:
        return None
    with bench.device.hold(short=True):
        (words1, without1), (words2, without2) = (encoder.leave_one_out(sentence) for sentence in pair)
    full1, full2 = (encoder.pool(tokens.vectors) for tokens in (tokens1, tokens2))
    return leave_one_out((words1, words2), (full1, full2), (without1, without2))


def _cross_encoded(bench: Workbench, pair: tuple[str, str], name: str) -> ModelScore:
    """The score of a cross-encoder or poly-encoder, higher is closer. Raises UserError for one that gives no single score."""
    cross = bench.registry.pair_scorer(name)
    with bench.device.hold(short=True):
        start = time.perf_counter()
        score = float(cross.score([pair])[0])
        milliseconds = (time.perf_counter() - start) * 1e3
    return ModelScore(name, score, milliseconds, cross.kind, cross.trained_for, cross.bounds)


def _encoded(bench: Workbench, session: Session, pair: tuple[str, str], model: str) -> ModelScore:
    """Another encoder's cosine, and its place among random pairs under that encoder."""
    encoder = bench.registry.encoder(model)
    scale = bench.examples.scale(encoder, session.get(IndexedCorpus))
    with bench.device.hold(short=True):
        start = time.perf_counter()
        score = cosine(*encoder.encode(pair))
        milliseconds = (time.perf_counter() - start) * 1e3
    in_words = scale.sentence(score, [caution.kind for caution in cautions(*pair)])
    return ModelScore(model, score, milliseconds, in_words=in_words, scale=scale)
