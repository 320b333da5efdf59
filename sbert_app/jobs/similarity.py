"""The job similarity: compare two sentences, with other models too, and explain the score; and, on the page alone, two lists."""

import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.explain.cautions import PLACES, cautions
from sbert_app.explain.scale import Scale
from sbert_app.explain.words import Attribution, TokenVectors, leave_one_out, split_mean_pooled, word_overlap
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option, model_option
from sbert_app.jobs.declaring.option import option, sentence
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.models.files.layout import POOLINGS
from sbert_app.models.files.trained_for import Bounds, how_to_read, in_words
from sbert_app.runtime import Session, Workbench
from sbert_app.settings import Limits
from sbert_app.vectors import Vectors, cosine, unit_rows
from sbert_app.wording import rounded

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

LEAVE_ONE_OUT_WORDS = 64  # leave-one-out costs two forward passes per word: longer sentences are not explained
MOST_LINKS = 8
HINT = "Type something to compare."


@dataclass(frozen=True)
class SimilarityOptions:
    sentence1: str = option("The first sentence.", sentence("first sentence", HINT))
    sentence2: str = option("The second sentence.", sentence("second sentence", HINT))
    model: str = model_option()
    cross_encoder: str = cross_encoder_option("", "A cross-encoder to score the pair as well; empty for none.")


def similarity(call: Call, options: SimilarityOptions) -> Steps:
    """Compare two sentences by meaning: cosine of their embeddings, its percentile, and the words that contribute most.

    Returns:
        score (cosine, -1..1), in_words (what the score means, in one sentence), cautions (sentences on what it does not tell: a
        negation, another number, another word order, a language that the model does not read), percentile (share of random pairs
        that score lower, 0..100), calibrated_on, pooling, poolings, word_overlap, links (the strongest word pairs with their
        contribution), residual, cross_encoder_score (of a model without sigmoid a logit), cross_encoder_trained_for ("likeness",
        "answers", or "" if unknown), milliseconds (of the whole comparison).
    """
    result = compare(call.bench, call.session, options)
    cross, attribution, scale = result.cross_encoder, result.attribution, result.scale
    summary = {
        "score": result.score,
        "in_words": result.in_words,
        "cautions": list(result.cautions),
        "percentile": scale.random.percentile(result.score),
        "calibrated_on": scale.random.name,
        "pooling": result.pooling,
        "poolings": result.poolings,
        "word_overlap": result.word_overlap,
        "links": [asdict(link) for link in attribution.strongest(MOST_LINKS)] if attribution else [],
        "residual": attribution.residual if attribution else None,
        "cross_encoder_score": cross.score if cross else None,
        "cross_encoder_trained_for": cross.trained_for if cross else None,
        "milliseconds": result.milliseconds,
    }
    lines = [result.in_words, f"{rounded(result.score, 4)}  cosine similarity, {options.model}"]
    if cross is not None:
        lines.append(f"{rounded(cross.score, 4)}  {cross.kind} {cross.model}, {in_words(cross.trained_for)}")
        lines.append(how_to_read(cross.trained_for, cross.bounds))
    lines += [f"Caution: {caution}" for caution in result.cautions]
    yield Outcome(summary, lines)


SIMILARITY = Job("similarity", Needs.NOTHING, SimilarityOptions, similarity, "similarity", quick=True)


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


def compare(bench: Workbench, session: Session, asked: SimilarityOptions, other: str = "", wait: bool = True) -> Comparison:
    """Score two sentences, by another encoder too, and explain the score. wait: until the bundled cross-encoder is loaded."""
    pair, cross_encoder = (asked.sentence1, asked.sentence2), asked.cross_encoder
    compared = _explained(bench, session, pair, bench.registry.encoder(asked.model))
    ready = wait or cross_encoder != DEFAULT_CROSS_ENCODER or bench.registry.was_loaded("cross-encoder", cross_encoder)
    if cross_encoder and ready:
        compared = replace(compared, cross_encoder=_cross_encoded(bench, pair, cross_encoder))
    return replace(compared, other=_encoded(bench, session, pair, other)) if other else compared


def _explained(bench: Workbench, session: Session, pair: tuple[str, str], encoder: "Encoder") -> Comparison:
    scale = bench.examples.scale(encoder, session.get(IndexedCorpus))
    start = time.perf_counter()  # after loading and calibration, which happen once per model and corpus
    with bench.device.hold(short=True) as waited:
        tokens = encoder.token_vectors(pair)
    encoded = time.perf_counter()
    poolings = {pooling: cosine(*(encoder.pool(each.vectors, pooling) for each in tokens)) for pooling in POOLINGS}
    score = poolings[encoder.layout.pooling]
    noticed = cautions(*pair, tokens, encoder.pieces_a_sample_word)
    cut = " and ".join(place for place, each in zip(PLACES, tokens, strict=True) if each.truncated)
    truncated = f"Of the {cut} sentence only the first {encoder.max_length} tokens were read: the model's limit."
    return Comparison(
        sentences=pair, score=score, in_words=scale.sentence(score, [caution.kind for caution in noticed]),
        cautions=(*(caution.text for caution in noticed), *([truncated] if cut else [])),
        scale=scale, pooling=encoder.layout.pooling, poolings=poolings, word_overlap=word_overlap(*pair),
        attribution=_attribution(bench, encoder, pair, tokens), notes=(encoder.note,) if encoder.note else (),
        milliseconds=(time.perf_counter() - start - waited) * 1e3,
        encode_milliseconds=(encoded - start - waited) * 1e3, waited=waited * 1e3,
    )  # fmt: skip


def _attribution(bench: Workbench, encoder: "Encoder", pair: tuple[str, str], tokens: list[TokenVectors]) -> Attribution | None:
    if encoder.layout.pooling == "mean" and not encoder.layout.dense:
        return split_mean_pooled(*tokens)
    if max(len(each.words) for each in tokens) > LEAVE_ONE_OUT_WORDS:
        return None
    with bench.device.hold(short=True):
        (words1, without1), (words2, without2) = (encoder.leave_one_out(sentence) for sentence in pair)
    full1, full2 = (encoder.pool(each.vectors) for each in tokens)
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
    meaning = scale.sentence(score, [caution.kind for caution in cautions(*pair)])
    return ModelScore(model, score, milliseconds, in_words=meaning, scale=scale)


@dataclass(frozen=True)
class ListComparison:
    """Scores of two lists: scores[i, j] is the cosine of sentences1[i] and sentences2[j]."""

    sentences1: list[str]
    sentences2: list[str]
    scores: Vectors
    milliseconds: float

    def records(self, count: int) -> list[dict[str, Any]]:
        """The closest pairs, best first: rank, score (4 digits), sentence1, sentence2."""
        first, second = self.sentences1, self.sentences2
        order = np.argsort(-self.scores, axis=None, kind="stable")[:count]
        places = zip(*(indices.tolist() for indices in np.unravel_index(order, self.scores.shape)), strict=True)
        return [
            {"rank": rank, "score": float(rounded(float(self.scores[i, j]), 4)), "sentence1": first[i], "sentence2": second[j]}
            for rank, (i, j) in enumerate(places, 1)
        ]


def compare_lists(bench: Workbench, lines1: str, lines2: str, model: str = DEFAULT_ENCODER) -> ListComparison:
    """Score every line of one text against every line of the other. Raises UserError for too many lines."""
    encoder = bench.registry.encoder(model)
    start = time.perf_counter()
    list1, list2 = _lines(lines1, "first", bench.settings.limits), _lines(lines2, "second", bench.settings.limits)
    embeddings = unit_rows(bench.device.encode(encoder, list1 + list2))
    scores = embeddings[: len(list1)] @ embeddings[len(list1) :].T
    return ListComparison(list1, list2, scores, (time.perf_counter() - start) * 1e3)


def _lines(text: str, which: str, limits: Limits) -> list[str]:
    stripped = (line.strip() for line in validation.text(text, f"{which} list").split("\n"))
    lines = [line[: limits.sentence_characters] for line in stripped if line]
    if not lines:
        raise UserError(f"The {which} list is blank. Type one sentence per line.")
    if len(lines) > limits.list_sentences:
        many = f"The {which} list has {len(lines):,} sentences, the limit is {limits.list_sentences}"
        raise UserError(f"{many}. For longer lists, use the Search tab.")
    return lines
