"""Filters become expressions of Milvus in which nothing that a visitor types is more than a text."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sbert_app.collections.collection import Facts
from sbert_app.collections.milvus.filters import ESCAPES, IN_PATTERNS, expression, fold
from sbert_app.corpus.filters import Condition, conditions, trimmed

COLUMNS = ("team", 'row" or row > 0 or "', "sentence", "größe", "row", "amount")
FACTS = Facts("m", "f", 4, "text", COLUMNS, {"amount": "number, decimal point"}, ("a.csv",))
LITERAL = re.compile(r'"((?:[^"\\\r\n]|\\["\\nrt])*)"')
BACK = {escaped: chr(code) for code, escaped in ESCAPES.items()}


def translated(filters):
    return expression(conditions(filters, FACTS.filterable), FACTS)


def literals(text):
    """The texts of the string literals of an expression."""
    return [re.sub(r"\\.", lambda escape: BACK[escape.group()], literal) for literal in LITERAL.findall(text)]


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        ({}, ""),
        ({"team": "Billing"}, '(c0 in ["Billing", "billing"] or f0 in ["Billing", "billing"])'),
        ({"team": ["a", "b"]}, '(c0 in ["a", "b"] or f0 in ["a", "b"])'),
        ({"team": []}, "row < 0"),
        ({"team": {}}, ""),
        ({"team": ""}, '(c0 in [""])'),
        ({"text": "Hi"}, '(sentence in ["Hi", "hi"] or folded in ["Hi", "hi"])'),
        ({"text": {"contains": "Hi"}}, '(sentence like "%hi%" or folded like "%hi%")'),
        ({"sentence": "x"}, '(c2 in ["x"] or f2 in ["x"])'),
        ({"row": "1"}, '(c4 in ["1"] or f4 in ["1"])'),
        ({'row" or row > 0 or "': "x"}, '(c1 in ["x"] or f1 in ["x"])'),
        ({"amount": {"from": "3", "to": 1e300}}, "n5 >= 3.0 and n5 <= 1e+300"),
        ({"amount": {"from": "-inf", "to": "inf"}}, "n5 >= -1.7976931348623157e+308 and n5 <= 1.7976931348623157e+308"),
        ({"team": "a", "größe": {"contains": "B"}}, '(c0 in ["a"] or f0 in ["a"]) and (c3 like "%b%" or f3 like "%b%")'),
        ({"team": {}, "row": "1"}, '(c4 in ["1"] or f4 in ["1"])'),
    ],
)
def test_an_expression_names_columns_by_number(filters, text):
    assert translated(filters) == text


INJECTIONS = [
    '"] or row > 0 or c0 in ["', '" or 1 == 1 or "', '\\" or row > 0 --', "\\", '\\"', "a\nor row > 0", "\r", "{x}", "$meta",
    "'",
]  # fmt: skip


@pytest.mark.parametrize("text", INJECTIONS)
def test_a_text_stays_one_literal(text):
    texts, equal = sorted({text, fold(text)}), translated({"team": text})
    listed = ", ".join("L" for _ in texts)
    assert LITERAL.sub("L", equal) == f"(c0 in [{listed}] or f0 in [{listed}])" and literals(equal) == texts * 2
    contains = translated({"team": {"contains": text}})
    assert LITERAL.sub("L", contains) == "(c0 like L or f0 like L)" and literals(contains) == [f"%{fold(text)}%"] * 2


@given(st.text(), st.text(min_size=1))
def test_whatever_is_typed_stays_a_literal(value, part):
    text = translated({"team": [value], "text": {"contains": part}})
    patterns = [f"%{fold(part)}%"] * 2
    assert LITERAL.sub("L", text).endswith(" and (sentence like L or folded like L)") and literals(text)[-2:] == patterns
    assert {*literals(text)[:-2]} == {value, trimmed(value), fold(value), fold(trimmed(value))}


@given(st.text(min_size=1))
def test_a_pattern_holds_no_wildcard_or_escape_of_a_visitor(part):
    assert not {"%", "_", "\\"} & set(fold(part))


@given(st.text(alphabet=st.characters(exclude_characters="".join(IN_PATTERNS.values()), exclude_categories=["Cs"])), st.data())
def test_folded_texts_contain_each_other_where_texts_do_in_any_case(text, data):
    part = data.draw(st.text(alphabet=st.sampled_from(text + text.swapcase() + "aA%_\\ßẞſsΣςσK")), label="part")
    plain = pc.match_substring(pa.array([text]), part, ignore_case=True)[0].as_py()
    assert (fold(part) in fold(text)) == plain
    assert fold(fold(text)) == fold(text)


def test_letters_are_folded_as_filters_of_tables_compare_them():
    letters = [chr(code) for code in range(0x110000) if chr(code).swapcase() != chr(code) or chr(code).casefold() != chr(code)]
    folded = np.array([fold(letter) for letter in letters])
    array = pa.array(letters)
    for letter in letters:
        same = pc.match_substring(array, letter, ignore_case=True).to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(folded == fold(letter), same, err_msg=letter)


def test_conditions_on_one_column_all_hold():
    condition = Condition("amount", values=("3",), contains="3", low=1.0, high=2.0)
    terms = '(c5 in ["3"] or f5 in ["3"])', '(c5 like "%3%" or f5 like "%3%")', "n5 >= 1.0", "n5 <= 2.0"
    assert expression([condition], FACTS) == " and ".join(terms)
