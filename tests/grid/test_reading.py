"""Files become data sets by their columns; what cannot be evaluated is a sentence, and the others go on."""

import gzip

import numpy as np
import pytest

from sbert_app.errors import UserError
from sbert_app.grid.data_set import CLASSES, PAIR_CLASSES, DataSet, PairSet
from sbert_app.grid.export import in_paper, published
from sbert_app.grid.reading import by_tasks, read_data_set, read_folder
from sbert_app.labelled.example_set import Examples
from sbert_app.settings import Limits
from sbert_app.tables import read_table

LIMITS = Limits()
PAIRS = "sentence1\tsentence2\tscore\na cat sleeps\ta cat rests\t5\nit rains\tthe sun shines\t1\na dog\ta puppy\t4\n"
CLASSED = "text\tlabel\n" + "".join(f"the cat number {i}\tanimal\nthe bill number {i}\tmoney\n" for i in range(14))


def test_the_task_is_known_by_the_columns(write):
    triplets = "anchor,positive,negative\nlate parcel,parcel is late,red apple\nred apple,a ripe apple,late parcel\n"
    ambiguous = "first,second,label\nthe parcel is late,my parcel came late,yes\nthe cat is here,a red apple fell,no\n"
    titled = "text,label,title\n" + "".join(
        f"the cat number {i},a,on cats again\nthe bill number {i},b,on bills again\n" for i in range(14)
    )
    files = {"a.tsv": PAIRS, "b.csv": triplets, "c.csv": ambiguous, "d.tsv": CLASSED, "e.csv": titled}
    sets = {name: read_data_set(read_table(write(name, content), LIMITS), LIMITS) for name, content in files.items()}
    assert [data.task for data in sets.values()] == ["scored", "triplets", "labelled", CLASSES, CLASSES]
    assert [data.measure for data in sets.values()] == ["spearman", "triplet_accuracy", "average_precision", "accuracy", "accuracy"]
    assert sets["a.tsv"].size == 3 and sets["d.tsv"].size == 28


def test_the_digest_tells_content_apart_not_names(write):
    one, same = (read_data_set(read_table(write(name, PAIRS), LIMITS), LIMITS) for name in ("a.tsv", "b.tsv"))
    other = read_data_set(read_table(write("c.tsv", PAIRS.replace("\t4", "\t3")), LIMITS), LIMITS)
    assert one.digest == same.digest != other.digest


def test_the_digest_tells_which_label_means_the_same():
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
    assert (
        errors[0].startswith("one_class.csv: ") and "at least 12" not in errors[0] and errors[1].startswith("same.tsv: Every score")
    )
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

    stsb = scored("stsb_test", 1_379)
    assert in_paper(stsb) == "STSb" and in_paper(scored("stsb_dev", 1_500)) == "" and in_paper(scored("mine", 1_379)) == ""
    assert published((stsb, scored("mine", 5)))["SBERT-NLI-base"] == [77.03, None]
    assert (
        published((stsb, scored("mine", 5)))["SBERT-STSb-base, trained on STSb"] == [84.67, None]
        and published((scored("mine", 5),)) == {}
    )
