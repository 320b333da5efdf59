"""Pairs whose meaning is known, to measure what a model's scores mean: from the labelled examples that come with the app."""

from dataclasses import dataclass

from sbert_app.explain.words import shared_content
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import read_table

FOLDER = ASSETS / "labelled"
SCORED, LABELLED = FOLDER / "requests_scored.csv", FOLDER / "instructions_labelled.csv"
RELATED_SCORES = 2.0, 3.5  # of 5: the same thing, another request
PARAPHRASE_SCORE = 4.5
OTHER, SAME = "other", "same"  # labels; "opposite" pairs are left out
KEPT_WORDS = 0.5  # share of the content words: a paraphrase keeps at least as many
MOST = 128  # pairs of each kind

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class ReferencePairs:
    """`related`: they ask for different things about one subject, which both name. `paraphrases`: they mean the same and keep at
    least half of the words. `other_words`: they mean the same without a word in common."""

    related: Pairs
    paraphrases: Pairs
    other_words: Pairs


def reference_pairs(limits: Limits) -> ReferencePairs:
    """Read the pairs from both files, in file order, at most MOST of a kind."""
    related, same = _labelled_pairs(limits)
    named = [pair for pair in related if shared_content(*pair) > 0]
    close = [pair for pair in same if shared_content(*pair) >= KEPT_WORDS]
    far = [pair for pair in same if shared_content(*pair) == 0]
    return ReferencePairs(named[:MOST], close[:MOST], far[:MOST])


def _labelled_pairs(limits: Limits) -> tuple[Pairs, Pairs]:
    """The pairs labelled as related and those labelled as meaning the same."""
    related: Pairs = []
    same: Pairs = []
    scored, labelled = read_table(SCORED, limits).frame, read_table(LABELLED, limits).frame
    for first, second, score in zip(scored["sentence1"], scored["sentence2"], scored["score"].astype(float), strict=True):
        if RELATED_SCORES[0] <= score <= RELATED_SCORES[1]:
            related.append((first, second))
        elif score >= PARAPHRASE_SCORE:
            same.append((first, second))
    for first, second, label in zip(labelled["sentence1"], labelled["sentence2"], labelled["label"], strict=True):
        if label in (OTHER, SAME):
            (related if label == OTHER else same).append((first, second))
    return related, same
