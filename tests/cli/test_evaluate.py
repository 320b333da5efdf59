"""evaluate in the shell: a file of labelled sentences, a folder of data sets, and what it refuses."""

import json

PAIRS = "sentence1,sentence2,score\na cat sleeps,a cat rests,5\nit rains,the sun shines,1\na dog,a puppy,4\n"
CLASSED = "text,label\n" + "".join(f"the cat number {i} sleeps,animal\nthe bill number {i} is due,money\n" for i in range(14))


def test_a_folder_is_a_table_of_systems_and_data_sets(shell, tmp_path):
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "topics.csv").write_text(CLASSED)
    (tmp_path / "same.csv").write_text(PAIRS.replace(",5", ",1").replace(",4", ",1"))
    out, err = shell("evaluate", "--data", tmp_path, "--systems", "word-vectors,tf-idf")
    lines = out.splitlines()
    assert lines[0] == "| system | pairs | topics | mean |" and lines[2].startswith("| word-vectors |")
    assert "tf-idf on topics: Scores pairs only" in out and "same.csv: Every score" in out and "tf-idf on pairs" in err
    summary = json.loads(shell("evaluate", "--data", tmp_path, "--systems", "tf-idf", "--tasks", "scored", "--json")[0])
    assert list(summary) == ["pairs"] and summary["pairs"]["tf-idf"]["interval"][0] <= summary["pairs"]["tf-idf"]["spearman"]


def test_labelled_sentences_are_a_data_set_too(shell, write):
    file = write("topics.csv", CLASSED)
    summary = json.loads(shell("evaluate", file, "--systems", "word-vectors", "--json")[0])
    assert summary["word-vectors"]["accuracy"] > 0.9
    _, err = shell("evaluate", file, "--systems", "tf-idf", status=2)
    assert err.splitlines()[-1].startswith("Error: Scores pairs only")


def test_without_a_file_or_a_folder_there_is_a_sentence(shell, tmp_path):
    assert "or a folder of them with --data" in shell("evaluate", status=2)[1]
    assert "There is no folder" in shell("evaluate", "--data", tmp_path / "nowhere", status=2)[1]


def test_figures_are_written_as_mteb_keeps_them(shell, write, tmp_path):
    file, out = write("pairs.csv", PAIRS), tmp_path / "mteb"
    shown, err = shell("evaluate", file, "--systems", "word-overlap,tf-idf", "--mteb", out)
    assert "2 figures for mteb written to" in err and shown.startswith("word-overlap ")
    results = [json.loads(path.read_text()) for path in sorted(out.rglob("pairs.json"))]
    assert len(results) == 2 and all(result["task_name"] == "pairs" for result in results)
    assert (
        "mteb has no such figures"
        in shell("evaluate", write("topics.csv", CLASSED), "--systems", "word-vectors", "--mteb", out, status=2)[1]
    )
    assert "Choose another --mteb" in shell("evaluate", file, "--systems", "tf-idf", "--mteb", file, status=2)[1]


def test_labelled_sentences_are_asked_as_clusters_and_triplets(shell, write, tmp_path):
    (tmp_path / "topics.csv").write_text(CLASSED)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    out, _ = shell("evaluate", "--data", tmp_path, "--systems", "word-vectors", "--tasks", "clusters,triplets")
    assert out.splitlines()[0] == "| system | topics as clusters | topics as triplets | mean |"
    file = tmp_path / "topics.csv"
    summary = json.loads(shell("evaluate", file, "--systems", "word-vectors", "--tasks", "clusters", "--json")[0])
    assert summary["word-vectors"]["v_measure"] > 0.9
    error = shell("evaluate", tmp_path / "pairs.csv", "--systems", "word-vectors", "--tasks", "clusters", status=2)[1]
    assert "is data for the task scored, not for clusters" in error
