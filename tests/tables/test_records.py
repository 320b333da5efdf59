"""JSON: one object a line, or a list."""

from sbert_app.tables import Skip, read_table
from tests.tables.files import LIMITS


def test_json_values_become_text_and_missing_ones_empty(write):
    table = read_table(
        write("a.jsonl", '{"text": "a", "n": 1, "deep": {"x": [1]}}\n{"text": "b", "n": NaN}\n"just a sentence"\n'), LIMITS
    )
    assert table.frame.to_dict("records") == [
        {"text": "a", "n": "1", "deep": '{"x": [1]}'},
        {"text": "b", "n": "", "deep": ""},
        {"text": "just a sentence", "n": "", "deep": ""},
    ]


def test_broken_json_lines_are_skipped_with_their_numbers(write):
    table = read_table(write("a.jsonl", '{"text": "a"}\nnot json\n{"text": "b"}\n'), LIMITS)
    assert table.rows.tolist() == [1, 3] and table.skipped == (Skip(2, "not valid JSON"),)
