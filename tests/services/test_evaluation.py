"""Every system on the same pairs: what it scores, what it is called, which examples it can take."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from sbert_app.corpus.ranking.lexical import tf_idf_cosines
from sbert_app.errors import UserError
from sbert_app.grid.systems import CROSS, OVERLAP, RANKERS, SBERT, SYSTEMS, TF_IDF, WORD_VECTORS, Choice
from sbert_app.services.evaluation import EvaluationService
from sbert_app.tables import read_table

GLOVE = "hotel 1 0 0\nroom 0.9 0.1 0\nbill 0 1 0\ncharge 0.1 0.9 0\nthe 0.3 0.3 0.3\n"


@pytest.fixture(scope="module")
def service(shared_bench):
    return EvaluationService(shared_bench)


def test_every_system_gives_its_row(service, scored, model_folder):
    systems = [name for name in SYSTEMS if name not in RANKERS]
    results = {result.system: result for result in service.evaluate(scored, systems, Choice(bert=str(model_folder)))}
    assert list(results) == systems
    for result in results.values():
        assert set(result.measures) == {"spearman", "pearson"} and result.sentences == 240 and result.seconds > 0
    assert results[CROSS].measures["spearman"] > results[SBERT].measures["spearman"]
    assert results[WORD_VECTORS].model == "input vectors of all-MiniLM-L6-v2" and results[OVERLAP].model == "Jaccard"
    assert results["bert-mean"].measures == pytest.approx(results[SBERT].measures) != results["bert-cls"].measures
    expected = spearmanr(tf_idf_cosines(scored.sentences)[0], scored.targets).statistic
    assert results[TF_IDF].measures["spearman"] == pytest.approx(expected, abs=1e-9)


def test_any_cross_encoder_is_measured_and_several_labels_are_a_sentence(service, scored, cross_folder, tmp_path):
    configs = [{"sentence_transformers": {"activation_fn": f"torch.nn.{name}"}} for name in ("Sigmoid", "Identity")]
    names = [str(cross_folder(tmp_path / f"mine-{i}", **config)) for i, config in enumerate(configs)]
    few = scored.take(np.arange(24))
    (chosen,) = service.evaluate(few, [CROSS], Choice(cross_encoder=names[1]))
    sigmoid, identity = service.evaluate(few, names)
    assert chosen.model == identity.model == names[1] and chosen.measures == identity.measures
    assert sigmoid.measures["spearman"] == pytest.approx(identity.measures["spearman"], abs=1e-3)  # the same order
    three = str(cross_folder(tmp_path / "three", 3))
    for systems, choice in (([CROSS], Choice(cross_encoder=three)), ([three], Choice())):
        with pytest.raises(UserError, match="gives 3 labels, not a score"):
            service.evaluate(few, systems, choice)


def test_word_vectors_of_a_file(service, scored, write):
    (result,) = service.evaluate(scored, [WORD_VECTORS], Choice(word_vectors=write("glove.txt", GLOVE)))
    assert result.model == "glove.txt" and -1 <= result.measures["spearman"] <= 1


def test_tf_idf_weighs_a_word_by_how_rare_it_is():
    first, second, third = ["the cat", "the cat", "12 %"], ["the dog", "a cat", "12 €"], ["the cat", "the sky", "!"]
    one, two = tf_idf_cosines([first, second, third])
    assert 0 < one[0] < one[1] < 1 and one[2] == pytest.approx(1)
    assert two[0] == pytest.approx(1) and two[1] < one[1] and two[2] == 0
    assert tf_idf_cosines([["!"], ["?"]])[0].tolist() == [0]


def test_triplets_are_counted_and_pairs_without_scores_need_vectors(service, tmp_path):
    path = tmp_path / "triplets.csv"
    path.write_text("anchor,positive,negative\n" + "late parcel,parcel is late,red apple\n" * 4)
    triplets = service.read(read_table(path, service._bench.settings.limits)).examples
    for result in service.evaluate(triplets, systems=[SBERT, WORD_VECTORS, TF_IDF, OVERLAP]):
        assert result.measures == {"triplet_accuracy": 1.0}
    path = tmp_path / "positives.csv"
    path.write_text("sentence1,sentence2\nlate parcel,my parcel is late\nred apple,a ripe apple\n")
    pairs = service.read(read_table(path, service._bench.settings.limits)).examples
    assert [r.measures["accuracy_at_1"] for r in service.evaluate(pairs, systems=[SBERT, WORD_VECTORS])] == [1, 1]
    with pytest.raises(UserError, match="Scores pairs only"):
        service.evaluate(pairs, systems=[TF_IDF])
    with pytest.raises(UserError, match="Unknown system 'glove'"):
        service.evaluate(pairs, systems=["glove"])
    assert np.isfinite(service.evaluate(triplets)[0].seconds)
