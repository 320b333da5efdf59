"""evaluate in the shell: a file of labelled sentences, a folder of data sets, and what it refuses."""

import json

PAIRS = "sentence1,sentence2,score\na cat sleeps,a cat rests,5\nit rains,the sun shines,1\na dog,a puppy,4\n"
CLASSED = "text,label\n" + "".join(f"the cat number {i} sleeps,animal\nthe bill number {i} is due,money\n" for i in range(14))


def test_a_folder_is_a_table_of_systems_and_data_sets(shell, tmp_path):
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "topics.csv").write_text(CLASSED)
    (tmp_path / "same.csv").write_text(PAIRS.replace(",5", ",1").replace(",4", ",1"))
    out, err = shell("evaluate", "--data", tmp_path, "--systems", "word-vectors,tf-idf,word-overlap", status=1)  # same.csv
    lines = out.splitlines()
    assert lines[0] == "| system | pairs | topics |" and lines[2].startswith("| word-vectors |")
    assert "word-overlap on topics: Scores pairs only" in out and "same.csv: Every score" in out and "tf-idf on pairs" in err
    alone = json.loads(shell("evaluate", tmp_path / "pairs.csv", "--systems", "tf-idf", "--json")[0])["tf-idf"]
    few = "3 pairs are too few to tell systems apart: at least 20 are needed."
    assert alone["seen"] == 0 and alone["notes"] == ["Read as scored, columns sentence1, sentence2, score.", few]
    summary = json.loads(shell("evaluate", "--data", tmp_path, "--systems", "tf-idf", "--tasks", "scored", "--json", status=1)[0])
    assert summary["pairs"]["tf-idf"]["examples"] == 3
    assert summary["pairs"]["tf-idf"]["notes"] == alone["notes"]
    assert "topics: Read as sentences with classes, columns text, label." in err
    assert list(summary) == ["pairs", "unread"] and "same.csv: Every score" in summary["unread"][0]
    assert summary["pairs"]["tf-idf"]["interval"][0] <= summary["pairs"]["tf-idf"]["spearman"]


def test_labelled_pairs_in_parts_are_learnt_from_too(shell, tmp_path):
    for name, count in (("same_train", 40), ("same_test", 20)):
        rows = [f"the cat {i} sleeps,{'a cat sleeps' if i % 2 else 'the bill is due'},{i % 2}\n" for i in range(count)]
        (tmp_path / f"{name}.csv").write_text("sentence1,sentence2,label\n" + "".join(rows))
    command = ("evaluate", "--data", tmp_path, "--systems", "word-vectors", "--tasks", "pair classes")
    summary = json.loads(shell(*command, "--json")[0])
    cell = summary["same"]["word-vectors"]
    assert list(summary) == ["same"] and cell["accuracy"] == cell["f1"] == 1.0 and cell["protocol"].startswith("test part")
    out, _ = shell(*command, "--quick")
    assert "same: quick: scikit-learn's logistic regression, test part, C chosen by 5 folds of the rest; F1 of word-vectors" in out
    whole = json.loads(shell("evaluate", "--data", tmp_path, "--systems", "word-vectors", "--json")[0])
    assert list(whole) == ["same_test", "same_train", "same"] and "average_precision" in whole["same_test"]["word-vectors"]
    learnt, _ = shell("transfer", tmp_path / "same_train.csv", "--test", tmp_path / "same_test.csv", "--quick")
    assert "F1 100.00" in learnt and "(60 pairs, 2 classes; quick:" in learnt


def test_figures_are_written_as_mteb_keeps_them(shell, write, tmp_path):
    file, out = write("pairs.csv", PAIRS), tmp_path / "mteb"
    lines, err = shell("evaluate", file, "--systems", "word-overlap,tf-idf", "--mteb", out)
    assert "2 figures for mteb written to" in err and lines.startswith("word-overlap ")
    results = [json.loads(path.read_text()) for path in sorted(out.rglob("pairs.json"))]
    assert len(results) == 2 and all(result["task_name"] == "pairs" for result in results)
    topics = write("topics.csv", CLASSED)
    assert "mteb has no such figures" in shell("evaluate", topics, "--systems", "word-vectors", "--mteb", out, status=2)[1]
    assert "Choose another --mteb" in shell("evaluate", file, "--systems", "tf-idf", "--mteb", file, status=2)[1]


def test_labelled_sentences_are_a_data_set_too_as_classes_clusters_and_triplets(shell, tmp_path):
    (tmp_path / "topics.csv").write_text(CLASSED)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    out, _ = shell("evaluate", "--data", tmp_path, "--systems", "word-vectors", "--tasks", "clusters,triplets")
    assert out.splitlines()[0] == "| system | topics as clusters | topics as triplets |"
    file = tmp_path / "topics.csv"
    both = json.loads(shell("evaluate", file, "--systems", "word-overlap,word-vectors", "--json", status=1)[0])
    assert both["word-vectors"]["accuracy"] > 0.9 and "Scores pairs only" in both["word-overlap"]["reason"]
    assert "Error: Scores pairs only" in shell("evaluate", file, "--systems", "word-overlap", status=2)[1]
    summary = json.loads(shell("evaluate", file, "--systems", "word-vectors", "--tasks", "clusters", "--json")[0])
    assert summary["word-vectors"]["v_measure"] > 0.9
    error = shell("evaluate", tmp_path / "pairs.csv", "--systems", "word-vectors", "--tasks", "clusters", status=2)[1]
    assert "is data for the task scored, not for clusters" in error


def test_the_regressor_predicts_a_topic_by_the_others_in_a_file_as_in_a_folder(shell, tmp_path):
    topics = ["cat", "bill", "train", "apple"]
    rows = [f"the {topics[i % 4]} number {i} is here,the {topics[(i + i // 9) % 4]} number {i % 7} came,{i % 6}" for i in range(80)]
    graded, sets = tmp_path / "graded.csv", tmp_path / "sets"
    sets.mkdir()
    (sets / "plain.csv").write_text("sentence1,sentence2,score\n" + "\n".join(rows))
    graded.write_text("sentence1,sentence2,score,topic\n" + "\n".join(f"{row},{topics[i % 4]}" for i, row in enumerate(rows)))
    (sets / "graded.csv").write_bytes(graded.read_bytes())
    (sets / "small.csv").write_text(PAIRS)
    alone = json.loads(shell("evaluate", graded, "--systems", "svr", "--json")[0])["svr"]
    grid = json.loads(shell("evaluate", "--data", sets, "--systems", "svr", "--json")[0])
    assert alone["spearman"] == grid["graded"]["svr"]["spearman"] != grid["plain"]["svr"]["spearman"]
    assert alone["model"].startswith("learns from the other folds") and "at least 40" in grid["small"]["svr"]["reason"]
