"""Learn the classes of sentences, or of pairs of sentences, from their embeddings: by SentEval's protocol or its quick form."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.vectors import Vectors

if TYPE_CHECKING:
    from sbert_app.training.transfer import Transfer


def features_of(data: LabelledSentences, embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
    """What a classifier learns from: the embeddings (n, dim), of pairs (n, 2 dim). embed: n sentences -> (n, dim)."""
    return embed(data.sentences) if not data.partners else pair_features(*map(embed, data.columns))


def pair_features(u: Vectors, v: Vectors) -> Vectors:
    """|u − v| and u ∗ v side by side, as SentEval has them. (n, dim) twice -> (n, 2 dim).

    Embeddings have a mean length of √dim before: of those of length 1 the products would be far smaller than the differences.
    """
    from sbert_app.training import transfer

    both = transfer.scaled(np.concatenate([u, v]))
    u, v = both[: len(u)], both[len(u) :]
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def learn(features: Vectors, data: LabelledSentences, quick: bool = False, tick: Callable[[], None] = lambda: None) -> "Transfer":
    """How well a linear classifier learns the classes from features (n, dim). tick: called between steps, may raise."""
    from sbert_app.training import quick_transfer, transfer

    if data.test is None:
        whole = quick_transfer.cross_validated if quick else transfer.cross_validated
        return whole(features, data.targets, tick=tick)
    parted = quick_transfer.with_test_part if quick else transfer.with_test_part
    return parted(features, data.targets, data.test, data.dev, tick=tick)


def measures_of(data: LabelledSentences, result: "Transfer") -> dict[str, float]:
    """The accuracy; of pairs with two classes also the F1 of the class that means "the same". 0..1."""
    if data.positive < 0 or len(data.classes) != 2:
        return {"accuracy": result.accuracy}
    right = (data.targets if data.test is None else data.targets[data.test]) == data.positive
    positive = result.predicted == data.positive
    return {"accuracy": result.accuracy, "f1": float(2 * (right & positive).sum() / max(1, right.sum() + positive.sum()))}
