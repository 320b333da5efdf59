"""Files become data sets by their columns, what cannot be evaluated a sentence; classes are also clusters and triplets."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import v_measure_score

from sbert_app.errors import UserError
from sbert_app.grid.cell import measure_cell, mistakes
from sbert_app.grid.classes import Classes, clustered
from sbert_app.grid.data_set import CLASSES, CLUSTERS, PAIR_CLASSES, DataSet, PairSet
from sbert_app.grid.export import in_paper, published
from sbert_app.grid.loading import load_system
from sbert_app.grid.reading import MOST_TRIPLETS, as_triplets, by_tasks, read_data_set, read_folder
from sbert_app.grid.systems import WORD_VECTORS, Choice
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from tests.evaluating import own

LIMITS = Limits()
GENERATOR = np.random.default_rng(0)
PAIRS = "sentence1\tsentence2\tscore\na cat sleeps\ta cat rests\t5\nit rains\tthe sun shines\t1\na dog\ta puppy\t4\n"
CLASSED = "text\tlabel\n" + "".join(f"the cat number {i}\tanimal\nthe bill number {i}\tmoney\n" for i in range(14))


def test_the_task_is_known_by_the_columns(write):
    triplets = "anchor,positive,negative\nlate parcel,parcel is late,red apple\nred apple,a ripe apple,late parcel\n"
    ambiguous = "first,second,label\nthe parcel is late,my parcel came late,yes\nthe cat is here,a red apple fell,no\n"
    rows = (f"the cat number {i},a,on cats again\nthe bill number {i},b,on bills again\n" for i in range(14))
    titled = "text,label,title\n" + "".join(rows)
    files = {"a.tsv": PAIRS, "b.csv": triplets, "c.csv": ambiguous, "d.tsv": CLASSED, "e.csv": titled}
    sets = {name: read_data_set(read_table(write(name, content), LIMITS), LIMITS) for name, content in files.items()}
    assert [data.task for data in sets.values()] == ["scored", "triplets", "labelled", CLASSES, CLASSES]
    assert [data.measure for data in sets.values()] == ["spearman", "triplet_accuracy", "average_precision", "accuracy", "accuracy"]
    assert sets["a.tsv"].size == 3 and sets["d.tsv"].size == 28


def test_the_digest_tells_content_apart_and_which_label_means_the_same_not_names(write):
    one, same = (read_data_set(read_table(write(name, PAIRS), LIMITS), LIMITS) for name in ("a.tsv", "b.tsv"))
    other = read_data_set(read_table(write("c.tsv", PAIRS.replace("\t4", "\t3")), LIMITS), LIMITS)
    assert one.digest == same.digest != other.digest
    sentences, targets = (["a", "b"], ["x", "y"]), np.array([0.0, 1.0])
    one, other = (PairSet("a", Examples("labelled", sentences, targets, np.arange(2), ("p", "q"), same)) for same in (0, 1))
    assert one.digest != other.digest


def test_rows_with_the_same_first_sentence_are_one_group():
    examples = Examples("scored", (["A  cat", "a cat", "b"], ["x", "y", "z"]), np.array([0.0, 1.0, 0.5]), np.arange(1, 4))
    assert PairSet("a", examples).groups.tolist() == [0, 0, 1]


def test_a_folder_gives_its_data_sets_and_says_which_it_cannot_read(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.tsv.gz").write_bytes(gzip.compress(PAIRS.encode()))
    (tmp_path / "same.tsv").write_text(PAIRS.replace("\t5", "\t1").replace("\t4", "\t1"))
    (tmp_path / "one_class.csv").write_text("text,label\n" + "the cat,animal\n" * 20)
    (tmp_path / "trec_train.tsv").write_text(CLASSED)
    (tmp_path / "trec_test.tsv").write_text("text\tlabel\nthe cat of the house\tanimal\nthe bill of the cat\tmoney\n")
    read = list(read_folder(tmp_path, LIMITS))
    sets = {data.name: data for data in read if isinstance(data, DataSet)}
    assert set(sets) == {"a", "trec_train"} and sets["trec_train"].data.tested.tolist() == [28, 29]
    errors = sorted(str(error) for error in read if isinstance(error, UserError))
    assert errors[0].startswith("one_class.csv: ") and "at least 12" not in errors[0]
    assert errors[1].startswith("same.tsv: Every score")
    with pytest.raises(UserError, match="holds no data sets"):
        list(read_folder(tmp_path / "nothing", LIMITS))


def paired(count: int, labels: str = "01") -> str:
    rows = [f"the cat number {i}\tthe {'cat' if i % 2 else 'dog'} number {i}\t{labels[i % 2]}\n" for i in range(count)]
    return "sentence1\tsentence2\tlabel\n" + "".join(rows)


def test_labelled_pairs_in_parts_are_besides_something_to_learn_from(tmp_path):
    files = {"mrpc_train": paired(40), "mrpc_test": paired(12), "mrpc_dev": paired(8), "other_train": paired(40, "01")}
    files |= {"other_test": paired(12, "ab"), "alone_train": paired(40), "few_train": paired(10), "few_test": paired(10)}
    for name, content in files.items():
        (tmp_path / f"{name}.tsv").write_text(content)
    read = list(read_folder(tmp_path, LIMITS))
    sets = {data.name: data for data in read if isinstance(data, DataSet)}
    assert {name for name, data in sets.items() if data.task == "labelled"} == set(files)
    errors = [str(error) for error in read if isinstance(error, UserError)]
    assert set(sets) - set(files) == {"mrpc"} and len(errors) == 2 and errors[0].startswith("few: The class")
    assert errors[1] == "other: 'other_test.tsv' has the label 'a', which 'other_train.tsv' lacks."
    mrpc = sets["mrpc"]
    assert mrpc.task == PAIR_CLASSES and mrpc.measure == "accuracy" and mrpc.size == 12 and mrpc.data.dev.sum() == 8
    assert [len(column) for column in mrpc.columns] == [60, 60] and mrpc.data.tested.tolist() == list(range(40, 52))
    assert mrpc.data.partners[40:42] == ["the dog number 0", "the cat number 1"] and len(mrpc.groups) == 12
    (quick,) = by_tasks(mrpc, [PAIR_CLASSES], quick=True)
    assert quick.digest != mrpc.digest != sets["mrpc_test"].digest


def test_files_named_alike_are_all_measured_or_said_to_be_unread(tmp_path):
    files = {"sts/a/pairs.tsv": PAIRS, "nli/a/pairs.tsv": PAIRS.replace("a dog", "one dog"), "trec_train.tsv": CLASSED}
    files |= {"TREC_train.txt.tsv": CLASSED, "trec_Test.tsv": CLASSED, "m.tsv": paired(12), "M_train.tsv": paired(40)}
    files |= {"m_test.tsv": paired(12), "corpus.tsv": "id\ttext\n1\ta cat\n", "corpus_notes.tsv": PAIRS}
    files |= {"queries.tsv": "id\ttext\n1\ta cat\n", "qrels.tsv": "query-id\tcorpus-id\tscore\n1\t1\t1\n"}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    read = list(read_folder(tmp_path, LIMITS))
    assert [str(error) for error in read if isinstance(error, UserError)] == [
        "'trec_train.tsv' is not read: 'TREC_train.txt.tsv' beside it has the same name. Rename one of them."
    ]
    names = [data.name for data in read if isinstance(data, DataSet)]
    assert sorted(names) == sorted([
        "sts/a/pairs", "nli/a/pairs", "TREC_train", "m", "M_train", "m_test", "M", "corpus_notes", tmp_path.name,
    ])  # fmt: skip


def test_the_papers_data_sets_are_known_by_name_and_size():
    def scored(name: str, size: int) -> DataSet:
        return PairSet(name, Examples("scored", (["a"] * size, ["b"] * size), np.zeros(size), np.arange(size)))

    stsb, mine = scored("stsb_test", 1_379), scored("mine", 5)
    assert in_paper(stsb) == "STSb" and in_paper(scored("stsb_dev", 1_500)) == "" and in_paper(scored("mine", 1_379)) == ""
    rows = published((stsb, mine))
    assert rows["SBERT-NLI-base"] == [77.03, None] and rows["SBERT-STSb-base, trained on STSb"] == [84.67, None]
    assert published((mine,)) == {}


@pytest.fixture(scope="module")
def notes():
    return own("Notes by topic")


def made(targets, test=None) -> Classes:
    sentences = [f"sentence number {row}" for row in range(len(targets))]
    return Classes("made", LabelledSentences(sentences, np.asarray(targets), ["a", "b", "c"], test, None))


def test_unasked_sentences_are_classes_only(notes):
    assert [data.task for data in by_tasks(notes, [])] == [CLASSES]
    assert [data.task for data in by_tasks(notes, ["triplets", CLUSTERS])] == [CLUSTERS, "triplets"]
    assert [data.name for data in by_tasks(notes, [CLUSTERS])] == ["Notes by topic as clusters"]
    assert by_tasks(notes, ["scored"]) == []
    assert len({data.digest for data in by_tasks(notes, [CLASSES, CLUSTERS, "triplets"])}) == 3


def test_a_triplet_is_two_of_one_class_and_one_of_another():
    data = made(np.repeat([0, 1, 1, 2], 900))
    columns = as_triplets(data).columns
    rows = np.array([[int(sentence.split()[-1]) for sentence in column] for column in columns])
    anchors, positives, negatives = data.data.targets[rows]
    assert rows.shape == (3, MOST_TRIPLETS) and len(set(rows[0].tolist())) == MOST_TRIPLETS
    assert (anchors == positives).all() and (anchors != negatives).all() and (rows[0] != rows[1]).all()
    assert columns == as_triplets(data).columns


def test_only_tested_sentences_are_asked_for():
    test = np.zeros(40, bool)
    test[20:] = True
    data = made(np.tile([0, 1], 20), test)
    clusters, triplets = by_tasks(data, ["triplets", CLUSTERS])
    assert {int(sentence.split()[-1]) for column in triplets.columns for sentence in column} <= set(range(20, 40))
    assert clusters.size == 20
    alone = made(np.repeat([0, 1], 20), test)  # the test part holds one class
    assert by_tasks(alone, ["triplets", CLUSTERS]) == [] and len(by_tasks(alone, [CLASSES])) == 1


def test_a_cluster_has_the_name_of_the_class_that_fits_best():
    classes = GENERATOR.integers(0, 3, size=300) + 4  # of seven classes three are there
    vectors = np.eye(3, dtype=np.float32)[classes - 4] + GENERATOR.normal(0, 0.05, size=(300, 3)).astype(np.float32)
    assert (clustered(vectors, classes) == classes).all()
    assert (clustered(vectors, classes) == clustered(vectors, classes)).all()


def test_the_figure_of_clusters_is_scikit_learns(shared_bench, notes):
    system, (data,) = load_system(shared_bench, WORD_VECTORS, Choice()), by_tasks(notes, [CLUSTERS])
    cell = measure_cell(system, data)
    assert data.measure == cell.measure == "v_measure" and cell.sentences == data.size
    assert cell.value == pytest.approx(v_measure_score(notes.data.targets, cell.predicted), abs=1e-6)
    assert 0.2 < cell.low < cell.value < cell.high < 0.9 and cell.samples.mean() == pytest.approx(cell.value, abs=1e-4)
    assert cell.measures["accuracy"] == pytest.approx((cell.predicted == notes.data.targets).mean())
    assert all(mistake.expected != mistake.given for mistake in mistakes(data, cell, 5))
    guess = replace(system, embed=lambda sentences: GENERATOR.normal(size=(len(sentences), 8)).astype(np.float32))
    assert measure_cell(guess, data).value < cell.low / 2
