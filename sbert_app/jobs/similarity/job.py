"""The job similarity: compare two sentences; and what the page alone has, the comparison of two lists."""

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option, model_option
from sbert_app.jobs.declaring.option import option, sentence
from sbert_app.jobs.similarity.pair import compare
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.models.files.trained_for import how_to_read, in_words
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Limits
from sbert_app.vectors import Vectors, unit_rows
from sbert_app.wording import rounded

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
    result = compare(call.bench, call.session, options.sentence1, options.sentence2, options.model, options.cross_encoder)
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
