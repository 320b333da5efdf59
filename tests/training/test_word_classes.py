"""tf-idf and a linear classifier on classes: the same predictions as scikit-learn's own pipeline on the same folds."""

import warnings

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline

from sbert_app.corpus.ranking.lexical import WORD
from sbert_app.errors import UserError
from sbert_app.grid.cell import measure_cell
from sbert_app.grid.classes import Classes
from sbert_app.grid.loading import load_system
from sbert_app.grid.systems import OVERLAP, TF_IDF, Choice
from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.training.transfer import C_OF_FOLDS, MOST_STEPS, QUICK_FOLDS, SEED, count_words, learn_words


@pytest.fixture(scope="module")
def data():
    """Sentences of two classes that differ in how often they use some words; some words occur once."""
    generator = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(60)])
    weights = generator.dirichlet(np.full(60, 0.5), size=2)
    targets = generator.integers(0, 2, 150)
    sentences = [" ".join([*generator.choice(words, 6, p=weights[t]), f"once{i}" * (i % 3 == 0)]) for i, t in enumerate(targets)]
    return LabelledSentences(sentences, targets, ["a", "b"], None, None)


def by_scikit_learn(sentences, targets, train, rows):
    """The classes of the rows, C chosen by folds of the training rows."""
    learner = LogisticRegression(max_iter=MOST_STEPS, random_state=SEED)
    pipeline = make_pipeline(TfidfVectorizer(token_pattern=WORD.pattern), learner)
    folds = StratifiedKFold(QUICK_FOLDS, shuffle=True, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(pipeline, {"logisticregression__C": C_OF_FOLDS}, cv=folds)
        return search.fit(sentences[train], targets[train]).predict(sentences[rows])


def test_each_fold_is_predicted_as_by_scikit_learn(data):
    result = learn_words(count_words(data), data, quick=True)
    sentences, predicted = np.array(data.sentences), np.empty_like(data.targets)
    for train, rows in StratifiedKFold(QUICK_FOLDS, shuffle=True, random_state=SEED).split(sentences, data.targets):
        predicted[rows] = by_scikit_learn(sentences, data.targets, train, rows)
    assert (result.predicted == predicted).all() and 0.7 < result.accuracy < 1
    assert "tf-idf of the training rows" in result.protocol


def test_a_test_part_is_predicted_as_by_scikit_learn(data):
    test = np.arange(150) >= 100
    parted = LabelledSentences(data.sentences, data.targets, data.classes, test, None)
    result = learn_words(count_words(parted), parted, quick=True)
    expected = by_scikit_learn(np.array(data.sentences), data.targets, np.flatnonzero(~test), np.flatnonzero(test))
    assert (result.predicted == expected).all()


def test_tf_idf_has_a_figure_on_classes_and_word_overlap_says_why_not(data, shared_bench):
    classes = Classes("words", data, quick=True)
    cell = measure_cell(load_system(shared_bench, TF_IDF, Choice()), classes)
    assert cell.value == pytest.approx(learn_words(count_words(data), data, quick=True).accuracy) and cell.seconds > 0
    with pytest.raises(UserError, match="gives no vectors to learn classes from"):
        measure_cell(load_system(shared_bench, OVERLAP, Choice()), classes)


def test_sentences_without_a_word_are_refused(data):
    with pytest.raises(UserError, match="No sentence has a word"):
        count_words(LabelledSentences(["?!"] * 150, data.targets, data.classes, None, None))
