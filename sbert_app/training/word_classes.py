"""Learn classes from the words of sentences: tf-idf and a linear classifier, the baseline for embeddings."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from sbert_app.corpus.ranking.lexical import WORD
from sbert_app.errors import UserError
from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.training import quick_transfer
from sbert_app.training.quick_transfer import C_OF_FOLDS, Fits, Mask
from sbert_app.training.transfer import FOLDS, Transfer

NAME = "tf-idf of the training rows, scikit-learn's logistic regression"


def count_words(data: LabelledSentences) -> Any:
    """How often each word occurs in each sentence, sparse (n, words). Raises UserError for pairs, and without any word."""
    if data.partners:
        raise UserError("Learns classes of sentences from their words, not of pairs.")
    try:
        return CountVectorizer(token_pattern=WORD.pattern).fit_transform(data.sentences).tocsr()
    except ValueError as error:
        raise UserError("No sentence has a word.") from error


def learn_words(counts: Any, data: LabelledSentences, quick: bool = False, tick: Callable[[], None] = lambda: None) -> Transfer:
    """How well the classes are learnt: the folds of the embeddings' protocol, the strength chosen by folds of the training rows.

    As scikit-learn's TfidfVectorizer fitted to the training rows of each fold: words and their rarity are theirs alone.
    """

    def parts(train: Mask, rows: Mask) -> tuple[Any, Any]:
        known = np.flatnonzero(counts[train].getnnz(axis=0))
        own = counts[train][:, known]
        rarity = TfidfTransformer().fit(own)
        return rarity.transform(own), rarity.transform(counts[rows][:, known])

    fits, folds = Fits(parts, data.targets, tick), quick_transfer.FOLDS if quick else FOLDS
    if data.test is None:
        return quick_transfer.nested(fits, C_OF_FOLDS, folds, NAME)
    return quick_transfer.tested(fits, C_OF_FOLDS, folds, NAME, data.test, data.dev)
