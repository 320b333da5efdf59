"""The shell finds duplicates: pairs, groups, a cleaned file, the overlap with another file."""

import csv
import json

from tests.cli.test_sentences import TICKETS


def test_pairs_groups_and_a_cleaned_file(shell, tmp_path):
    clean = tmp_path / "clean.csv"
    out, err = shell("duplicates", TICKETS, "--top", 3, "--threshold", 0.9, "--clean", clean, "--json")
    result = json.loads(out)
    pairs, groups = result["pairs"], result["groups"]
    assert set(pairs[0]) == {"row1", "row2", "score", "sentence1", "sentence2", "caution"} and "column 'text'" in err
    assert len(pairs) == 3 and pairs[0]["score"] >= pairs[1]["score"] >= 0.9 and pairs[0]["row1"] < pairs[0]["row2"]
    assert groups[0].keys() == {"representative", "rows", "size"} and groups[0]["rows"][0] == groups[0]["representative"]
    assert result["exact"] and (result["threshold"], result["floor"]) == (0.9, 0.5)
    assert {"index", "compare", "group"} == set(result["seconds"])
    with TICKETS.open(encoding="utf-8", newline="") as file:
        before = list(csv.DictReader(file))
    with clean.open(encoding="utf-8", newline="") as file:
        after = list(csv.DictReader(file))
    assert list(after[0]) == list(before[0])
    dropped = {row for group in groups for row in group["rows"][1:]}
    assert after == [row for number, row in enumerate(before, 1) if number not in dropped] and len(dropped) == result["redundant"]


def test_copies_alone_can_be_left_out_and_the_file_that_is_read_is_not_written_over(shell, tmp_path, write):
    clean, path = tmp_path / "clean.csv", write("cats.csv", "id,text\n1,the cat sleeps\n2,the cat is sleeping\n3,the cat sleeps\n")
    out, _ = shell("duplicates", path, "--threshold", 0.9, "--clean", clean, "--remove", "copies")
    assert "1 exact copies (1 differ in id) among 3 rows; 1 more rows are similar" in out and "2 rows to keep" in out
    assert clean.read_text(encoding="utf-8").split() == ["id,text", "1,the", "cat", "sleeps", "2,the", "cat", "is", "sleeping"]
    text = path.read_bytes()
    assert "is read by this command. Choose another --clean" in shell("duplicates", path, "--clean", path, status=2)[1]
    assert path.read_bytes() == text


def test_against_another_file(shell, write, sentences):
    other = write("test.csv", f'text\n"{sentences[0]}"\nsomething else entirely\n')
    found = json.loads(shell("duplicates", TICKETS, "--top", 1, "--against", other, "--json")[0])["overlap"]
    assert (found["rows"], found["found"], found["same_text"]) == (2, 1, 1) and found["matches"][0]["corpus_row"] == 1
    assert "1 of 2 rows of" in shell("duplicates", TICKETS, "--against", other)[0]
