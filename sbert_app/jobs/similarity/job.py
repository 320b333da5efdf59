"""The job similarity: compare two sentences by score, its percentile among random pairs, and an explanation by words."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.ranking.lexical import word_overlap
from sbert_app.errors import UserError
from sbert_app.explain.attribution import Attribution, leave_one_out, split_mean_pooled
from sbert_app.explain.cautions import Caution, cautions, pieces_of
from sbert_app.explain.scale import Scale
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option, model_option
from sbert_app.jobs.declaring.option import option, sentence
from sbert_app.jobs.similarity.compared import Comparison, ListComparison, ModelScore
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.models.files.trained_for import check_one_score, how_to_read, in_words
from sbert_app.models.pooling import POOLINGS
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Limits
from sbert_app.vectors import cosine, unit_rows
from sbert_app.wording import rounded

if TYPE_CHECKING:
    from sbert_app.explain.attribution import TokenVectors
    from sbert_app.models.encoder import Encoder

MOST_LINKS = 8
HINT = "Type something to compare."
LEAVE_ONE_OUT_WORDS = 64  # leave-one-out costs two forward passes per word: longer sentences are not explained


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
    """Score two sentences and explain the score. Raises UserError for an unknown model.

    cross_encoder, other: a cross-encoder or poly-encoder and an encoder that score the pair too. wait: False leaves out the
    bundled cross-encoder until the app has loaded it in the background.
    """
    pair = sentence1, sentence2
    compared = _explained(bench, session, pair, bench.registry.encoder(model))
    ready = wait or cross_encoder != DEFAULT_CROSS_ENCODER or bench.registry.was_loaded("cross-encoder", cross_encoder)
    if cross_encoder and ready:
        compared = replace(compared, cross_encoder=_cross_encoded(bench, pair, cross_encoder))
    return replace(compared, other=_encoded(bench, session, pair, other)) if other else compared


def compare_lists(bench: Workbench, lines1: str, lines2: str, model: str = DEFAULT_ENCODER) -> ListComparison:
    """Score every line of one text against every line of the other. Raises UserError for too many lines."""
    encoder = bench.registry.encoder(model)
    start = time.perf_counter()
    list1, list2 = _lines(lines1, "first", bench.settings.limits), _lines(lines2, "second", bench.settings.limits)
    embeddings = unit_rows(bench.device.encode(encoder, list1 + list2))
    scores = embeddings[: len(list1)] @ embeddings[len(list1) :].T
    return ListComparison(list1, list2, scores, (time.perf_counter() - start) * 1e3)


def _explained(bench: Workbench, session: Session, pair: tuple[str, str], encoder: "Encoder") -> Comparison:
    scale = bench.examples.scale(encoder, session.get(IndexedCorpus))
    start = time.perf_counter()  # after loading and calibration, which happen once per model and corpus
    with bench.device.hold(short=True) as waited:
        tokens = tokens1, tokens2 = encoder.token_vectors(pair)
    encoded = time.perf_counter()
    poolings = {p: cosine(encoder.pool(tokens1, p), encoder.pool(tokens2, p)) for p in POOLINGS}
    score = poolings[encoder.layout.pooling]
    pieces1, pieces2 = (pieces_of(each, encoder.pieces_a_sample_word) for each in tokens)
    noticed = cautions(*pair, (pieces1, pieces2))
    truncated = f"Only the first {encoder.max_length} tokens of each sentence were read: the model's limit."
    attribution = _attribution(bench, encoder, tokens1, tokens2, pair)
    return Comparison(
        sentences=pair,
        score=score,
        in_words=_in_words(scale, score, noticed),
        cautions=(*(caution.text for caution in noticed), *([truncated] if any(each.truncated for each in tokens) else [])),
        scale=scale,
        percentile=scale.random.percentile(score) if scale else None,
        calibrated_on=scale.random.name if scale else "",
        pooling=encoder.layout.pooling,
        poolings=poolings,
        word_overlap=word_overlap(*pair),
        attribution=attribution,
        notes=(encoder.note,) if encoder.note else (),
        milliseconds=(time.perf_counter() - start - waited) * 1e3,
        encode_milliseconds=(encoded - start - waited) * 1e3,
        waited=waited * 1e3,
    )


def _attribution(
    bench: Workbench, encoder: "Encoder", tokens1: "TokenVectors", tokens2: "TokenVectors", pair: tuple[str, str]
) -> Attribution | None:
    if encoder.layout.pooling == "mean" and not encoder.layout.dense:
        return split_mean_pooled(tokens1, tokens2)
    if max(len(tokens1.words), len(tokens2.words)) > LEAVE_ONE_OUT_WORDS:
        return None
    with bench.device.hold(short=True):
        (words1, without1), (words2, without2) = (encoder.leave_one_out(sentence) for sentence in pair)
    full1, full2 = (encoder.pool(tokens, encoder.layout.pooling) for tokens in (tokens1, tokens2))
    return leave_one_out((words1, words2), (full1, full2), (without1, without2))


def _cross_encoded(bench: Workbench, pair: tuple[str, str], name: str) -> ModelScore:
    """The score of a cross-encoder or poly-encoder, higher is closer. Raises UserError for one that gives no single score."""
    cross = bench.registry.pair_scorer(name)
    check_one_score(cross)
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
    return ModelScore(model, score, milliseconds, in_words=_in_words(scale, score, cautions(*pair)), scale=scale)


def _lines(text: str, which: str, limits: Limits) -> list[str]:
    text = validation.text(text, f"{which} list")
    lines = [line.strip()[: limits.sentence_characters] for line in text.split("\n") if line.strip()]
    if not lines:
        raise UserError(f"The {which} list is blank. Type one sentence per line.")
    if len(lines) > limits.list_sentences:
        raise UserError(
            f"The {which} list has {len(lines):,} sentences, the limit is {limits.list_sentences}. "
            "For longer lists, use the Search tab."
        )
    return lines


def _in_words(scale: Scale | None, score: float, noticed: Sequence[Caution]) -> str:
    return scale.sentence(score, scale.verdict(score, [caution.kind for caution in noticed])) if scale else ""


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
    result = compare(
        call.bench, call.session, options.sentence1, options.sentence2, options.model, cross_encoder=options.cross_encoder
    )
    cross = result.cross_encoder
    attribution = result.attribution
    summary = {
        "score": result.score,
        "in_words": result.in_words,
        "cautions": list(result.cautions),
        "percentile": result.percentile,
        "calibrated_on": result.calibrated_on,
        "pooling": result.pooling,
        "poolings": result.poolings,
        "word_overlap": result.word_overlap,
        "links": [asdict(link) for link in attribution.strongest(MOST_LINKS)] if attribution else [],
        "residual": attribution.residual if attribution else None,
        "cross_encoder_score": cross.score if cross else None,
        "cross_encoder_trained_for": cross.trained_for if cross else None,
        "milliseconds": result.milliseconds,
    }
    lines = [*filter(None, [result.in_words]), f"{rounded(result.score, 4)}  cosine similarity, {options.model}"]
    if cross is not None:
        lines.append(f"{rounded(cross.score, 4)}  {cross.kind} {cross.model}, {in_words(cross.trained_for)}")
        lines.append(how_to_read(cross.trained_for, cross.bounds))
    lines += [f"Caution: {caution}" for caution in result.cautions]
    yield Outcome(summary, lines)


SIMILARITY = Job("similarity", Needs.NOTHING, SimilarityOptions, similarity, "similarity", quick=True)
