"""The job similarity: compare two sentences."""

from dataclasses import asdict, dataclass

from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option, model_option
from sbert_app.jobs.declaring.option import option, sentence
from sbert_app.jobs.similarity.compare import compare
from sbert_app.models.files.trained_for import how_to_read, in_words
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
