"""JSON: one object a line, or a list."""

import pytest

from sbert_app.errors import UserError
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


def test_columns_stop_at_the_limit_while_they_come_up(write):
    keys = "".join(f'{{"key{i}": 1}}\n' for i in range(50_000))
    with pytest.raises(UserError, match="'a.jsonl' has more than 200 columns, the limit is 200"):
        read_table(write("a.jsonl", keys), LIMITS)


def test_empty_objects_say_so(write):
    with pytest.raises(UserError, match="'a.json' has rows without any value"):
        read_table(write("a.json", "[{}, {}]"), LIMITS)


def test_a_value_that_is_nested_too_deeply_is_skipped(write):
    deep = "[" * 900 + "]" * 900
    table = read_table(write("a.jsonl", f'{{"text": "a"}}\n{{"text": {deep}}}\n'), LIMITS)
    assert table.frame["text"][0] == "a" and len(table.frame) + len(table.skipped) == 2


def test_keys_and_values_lose_what_cannot_be_stored(write):
    table = read_table(write("a.jsonl", '{"te\\u0000xt": "a\\u0000", "\\ud83d": "\\ud83d"}\n'), LIMITS)
    assert table.frame.to_dict("records") == [{"text": "a", "?": "?"}]
