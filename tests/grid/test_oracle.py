"""The figures of the grid are those of sentence-transformers' own evaluators, on the app's own data sets."""

import numpy as np
import pytest

from sbert_app.grid.cell import measure_cell
from sbert_app.grid.loading import of_encoder
from tests.evaluating import own


@pytest.fixture(scope="module")
def oracle(model_folder):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(model_folder), device="cpu")


@pytest.fixture(scope="module")
def sbert(shared_bench):
    return of_encoder(shared_bench, shared_bench.registry.trainable())  # in fp32, as the oracle, also where the processor has bf16


def test_scored_pairs(oracle, sbert):
    from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator

    data = own("Everyday pairs")
    expected = EmbeddingSimilarityEvaluator(*data.examples.sentences, data.examples.gold.tolist())(oracle)
    cell = measure_cell(sbert, data)
    assert cell.measures["spearman"] == pytest.approx(expected["spearman_cosine"], abs=1e-4)
    assert cell.measures["pearson"] == pytest.approx(expected["pearson_cosine"], abs=1e-4)


def test_triplets(oracle, sbert):
    from sentence_transformers.evaluation import TripletEvaluator

    data = own("Hard messages")
    expected = TripletEvaluator(*data.examples.sentences)(oracle)
    assert measure_cell(sbert, data).value == pytest.approx(expected["cosine_accuracy"], abs=1 / data.size)


def test_labelled_pairs(oracle, sbert):
    from sentence_transformers.evaluation import BinaryClassificationEvaluator

    data = own("Hard instructions")
    labels = data.examples.gold.astype(np.int64).tolist()
    expected = BinaryClassificationEvaluator(*data.examples.sentences, labels, similarity_fn_names=["cosine"])(oracle)
    cell = measure_cell(sbert, data)
    assert cell.measures["average_precision"] == pytest.approx(expected["cosine_ap"], abs=1e-3)
    assert cell.measures["f1"] == pytest.approx(expected["cosine_f1"], abs=1e-3)
