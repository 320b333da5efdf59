"""Every system on the same pairs: what it scores, what it is called, which examples it can take."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from sbert_app.corpus.ranking.lexical import tf_idf_cosines
from sbert_app.errors import UserError
from sbert_app.grid.systems import CROSS, OVERLAP, RANKERS, SBERT, SYSTEMS, TF_IDF, WORD_VECTORS
from sbert_app.tables import read_table
from tests.evaluating import evaluate

GLOVE = "hotel 1 0 0\nroom 0.9 0.1 0\nbill 0 1 0\ncharge 0.1 0.9 0\nthe 0.3 0.3 0.3\n"


def test_every_system_gives_its_row(shared_bench, scored, model_folder):
    systems = [name for name in SYSTEMS if name not in RANKERS]
    results = evaluate(shared_bench, scored, systems, bert=str(model_folder))
    measures = {name: {"spearman": result["spearman"], "pearson": result["pearson"]} for name, result in results.items()}
    assert list(results) == systems
    for result in results.values():
        assert list(result) == ["model", "spearman", "pearson", "sentences", "seconds"]
        assert result["sentences"] == 240 and result["seconds"] > 0
    assert results[CROSS]["spearman"] > results[SBERT]["spearman"]
    assert results[WORD_VECTORS]["model"] == "input vectors of all-MiniLM-L6-v2" and results[OVERLAP]["model"] == "Jaccard"
    assert measures["bert-mean"] == pytest.approx(measures[SBERT]) != measures["bert-cls"]
    expected = spearmanr(tf_idf_cosines(scored.sentences)[0], scored.targets).statistic
    assert results[TF_IDF]["spearman"] == pytest.approx(expected, abs=1e-9)


def test_any_cross_encoder_is_measured_and_several_labels_are_a_sentence(shared_bench, scored, cross_folder, tmp_path):
    configs = [{"sentence_transformers": {"activation_fn": f"torch.nn.{name}"}} for name in ("Sigmoid", "Identity")]
    names = [str(cross_folder(tmp_path / f"mine-{i}", **config)) for i, config in enumerate(configs)]
    few = scored.take(np.arange(24))
    chosen = evaluate(shared_bench, few, [CROSS], cross_encoder=names[1])[CROSS]
    sigmoid, identity = evaluate(shared_bench, few, names).values()
    assert chosen["model"] == identity["model"] == names[1] and chosen["spearman"] == identity["spearman"]
    assert sigmoid["spearman"] == pytest.approx(identity["spearman"], abs=1e-3)  # the same order
    three = str(cross_folder(tmp_path / "three", 3))
    for systems, options in (([CROSS], {"cross_encoder": three}), ([three], {})):
        with pytest.raises(UserError, match="gives 3 labels, not a score"):
            evaluate(shared_bench, few, systems, **options)


def test_word_vectors_of_a_file(shared_bench, scored, write):
    result = evaluate(shared_bench, scored, [WORD_VECTORS], word_vectors=write("glove.txt", GLOVE))[WORD_VECTORS]
    assert result["model"] == "glove.txt" and -1 <= result["spearman"] <= 1


def test_tf_idf_weighs_a_word_by_how_rare_it_is():
    first, second, third = ["the cat", "the cat", "12 %"], ["the dog", "a cat", "12 €"], ["the cat", "the sky", "!"]
    one, two = tf_idf_cosines([first, second, third])
    assert 0 < one[0] < one[1] < 1 and one[2] == pytest.approx(1)
    assert two[0] == pytest.approx(1) and two[1] < one[1] and two[2] == 0
    assert tf_idf_cosines([["!"], ["?"]])[0].tolist() == [0]


def test_triplets_are_counted_and_pairs_without_scores_need_vectors(shared_bench, tmp_path):
    path = tmp_path / "triplets.csv"
    path.write_text("anchor,positive,negative\n" + "late parcel,parcel is late,red apple\n" * 4)
    triplets = read_table(path, shared_bench.settings.limits)
    for result in evaluate(shared_bench, triplets, [SBERT, WORD_VECTORS, TF_IDF, OVERLAP]).values():
        assert result["triplet_accuracy"] == 1.0 and len(result) == 4
    path = tmp_path / "positives.csv"
    path.write_text("sentence1,sentence2\nlate parcel,my parcel is late\nred apple,a ripe apple\n")
    pairs = read_table(path, shared_bench.settings.limits)
    assert [r["accuracy_at_1"] for r in evaluate(shared_bench, pairs, [SBERT, WORD_VECTORS]).values()] == [1, 1]
    with pytest.raises(UserError, match="Scores pairs only"):
        evaluate(shared_bench, pairs, [TF_IDF])
    with pytest.raises(UserError, match="Unknown system 'glove'"):
        evaluate(shared_bench, pairs, ["glove"])
    assert list(evaluate(shared_bench, triplets, [])) == [SBERT]
