"""Labelled files as people bring them: columns guessed, scores rescaled, and a message for each thing that can be wrong."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sbert_app.errors import UserError
from sbert_app.evaluation.agreement import spearman
from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.export import as_csv, as_latex, as_markdown
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import System
from sbert_app.labelled.columns import ColumnRoles, guess_mapping
from sbert_app.labelled.example_set import FILE, digests, remember, trained_on
from sbert_app.labelled.examples import read_examples
from sbert_app.labelled.labels import number
from sbert_app.models.files.finding import CROSS_ENCODER
from sbert_app.settings import Limits
from sbert_app.tables import Skip, read_table
from sbert_app.wording import times_100

ROWS, DEFAULTS = 30, Limits()


@pytest.fixture
def read(write):
    """Read csv text with the guessed mapping, or one that is given."""

    def read(text, mapping=None, name="pairs.csv", limits=DEFAULTS):
        table = read_table(write(name, text), limits)
        return read_examples(table, mapping or guess_mapping(table.frame), limits)

    return read


def lines(header, row, count=ROWS):
    return "\n".join([header, *(row(i) for i in range(count))]) + "\n"


def pair(i):
    return f"the first sentence is number {i},the second sentence is number {i}"


@pytest.mark.parametrize(
    ("header", "row", "kind", "target"),
    [
        ("sentence1,sentence2,score", lambda i: f"{pair(i)},{i % 6}", "scored", "score"),
        ("score,sentence_a,sentence_b", lambda i: f"{i / 10},{pair(i)}", "scored", "score"),
        ("premise,hypothesis,label", lambda i: f"{pair(i)},{['neutral', 'entailment'][i % 2]}", "labelled", "label"),
        ("question1,question2,is_duplicate", lambda i: f"{pair(i)},{i % 2}", "labelled", "is_duplicate"),
        ("id,text one,text two,verdict", lambda i: f"{i},{pair(i)},{['yes', 'no'][i % 2]}", "labelled", "verdict"),
        ("Satz1,Satz2,Bewertung", lambda i: f"{pair(i)},{1 + i % 5}", "scored", "Bewertung"),
        ("sentence1,sentence2,label", lambda i: f"{pair(i)},{i % 3}", "labelled", "label"),
        ("links,rechts,wert", lambda i: f"{pair(i)},{i * 0.37:.2f}", "scored", "wert"),
        ("anchor,positive,negative", lambda i: f"{pair(i)},another sentence number {i}", "triplets", ""),
        ("a,b,c", lambda i: f"{pair(i)},another sentence number {i}", "triplets", ""),
        ("year,first,second,How similar (0-5)", lambda i: f"{2000 + i % 9},{pair(i)},{i % 6}", "scored", "How similar (0-5)"),
        ("split,text1,text2,sim", lambda i: f"{['train', 'test'][i % 2]},{pair(i)},{i % 6}", "scored", "sim"),
        ("batch,text1,text2,is_same", lambda i: f"{i % 4},{pair(i)},{i % 2}", "labelled", "is_same"),
        ("text1,text2,match", lambda i: f"{pair(i)},{10 * (i % 9)} %", "scored", "match"),
        ("text1,text2,rating", lambda i: f"{pair(i)},{i % 6} - grade", "scored", "rating"),
        ("question,answer,hard_negative", lambda i: f"{pair(i)},another sentence number {i}", "triplets", ""),
        ("query,passage", pair, "positives", ""),
        ("query,passage,sheet", lambda i: f"{pair(i)},{['train', 'test'][i % 2]}", "positives", ""),
    ],
)
def test_columns_are_guessed_by_name_and_by_content(read, header, row, kind, target):
    reading = read(lines(header, row))
    assert (reading.mapping.kind, reading.mapping.target) == (kind, target)
    assert reading.examples.sentences[0][3] == "the first sentence is number 3"
    assert reading.examples.sentences[1][3] == "the second sentence is number 3"
    assert len(reading.examples) == ROWS


def test_numbers_of_nli_classes_are_labels_of_which_the_first_means_the_same(read):
    reading = read(lines("premise,hypothesis,label", lambda i: f"{pair(i)},{i % 4 - 1}", 40))
    assert reading.examples.labels == ("0", "1", "2") and reading.examples.labels[reading.examples.positive] == "0"
    assert len(reading.examples) == 30 and {skip.reason for skip in reading.skipped} == {"blank label"}


def test_a_label_that_says_nothing_is_no_label(read):
    reading = read(lines("sentence1,sentence2,label", lambda i: f"{pair(i)},{['yes', 'no', 'NA'][i % 3]}", 60))
    assert reading.examples.labels == ("no", "yes") and len(reading.examples) == 40 and len(reading.skipped) == 20


def test_scores_of_any_range_are_rescaled_and_the_range_is_told(read):
    examples = read(lines("sentence1,sentence2,score", lambda i: f"{pair(i)},{1 + i % 5}")).examples
    assert examples.score_range == (1, 5)
    assert sorted(set(examples.targets)) == [0, 0.25, 0.5, 0.75, 1]
    unchanged = read(lines("sentence1,sentence2,score", lambda i: f"{pair(i)},{0.2 + i / 60}")).examples
    assert unchanged.score_range == (0, 1) and unchanged.targets.min() == pytest.approx(0.2)
    with_commas = read(lines("sentence1;sentence2;score", lambda i: f"{pair(i).replace(',', ';')};{i % 5},5")).examples
    assert with_commas.score_range == (0.5, 4.5) and number("1_000") is number("x") is None


def test_the_sts_benchmark_is_read_as_it_was_published(read):
    row = 'main-captions\tMSRvid\t2012test\t{0:04}\t{1}\tA plane of {0} seats takes off.\tAn "air plane of {0} seats'.format
    text = "".join(row(i, f"{i / 7:.3f}") + "\n" for i in range(ROWS))
    reading = read(text, name="sts-test.csv")
    assert reading.mapping == ColumnRoles("scored", ("column_6", "column_7"), "column_5") and len(reading.examples) == ROWS


def test_label_names_are_kept_and_one_means_the_same(read):
    text = lines("premise,hypothesis,label", lambda i: f"{pair(i)},{['entailment', 'neutral', 'contradiction'][i % 3]}")
    chosen = ColumnRoles("labelled", ("premise", "hypothesis"), "label", positive="neutral")
    for mapping, gold in ((None, [1, 0, 0]), (chosen, [0, 1, 0])):
        examples = read(text, mapping).examples
        assert examples.labels == ("contradiction", "entailment", "neutral") and examples.gold[:3].tolist() == gold


@pytest.mark.parametrize(
    ("labels", "same", "sure"),
    [
        (["different", "dup"], "dup", True),
        (["0", "1"], "1", True),
        (["1", "5"], "5", True),
        (["0", "1", "2"], "2", False),
        (["ja", "nein"], "ja", True),
        (["related", "unrelated"], "related", True),
        (["dup", "not dup"], "dup", True),
        (["low", "medium", "high"], "high", True),
        (["low", "high", "very high"], "high", False),
        (["links", "rechts"], "rechts", False),
    ],
)
def test_the_label_that_means_the_same_is_named_guessed_and_doubted(read, labels, same, sure):
    reading = read(lines("sentence1,sentence2,label", lambda i: f"{pair(i)},{labels[i % len(labels)]}"))
    assert reading.examples.labels[reading.examples.positive] == same
    assert any("was guessed" in note for note in reading.notes) is not sure


@pytest.mark.parametrize(("codes", "same"), [("12", "1"), ("21", "2"), ("012", "0"), ("210", "2"), ("01", "1"), ("10", "1")])
def test_of_labels_that_are_numbers_the_one_of_pairs_that_share_more_words_means_the_same(read, codes, same):
    seconds = "parcel {} is rather late", "somebody else rang", "another person rang"
    rows = [f"parcel {i} is late,{seconds[i % len(codes)].format(i)},{codes[i % len(codes)]}" for i in range(90)]
    reading = read("\n".join(["sentence1,sentence2,label", *rows]))
    assert reading.examples.labels[reading.examples.positive] == same


def test_a_column_of_distances_is_turned_round(read):
    def row(i):
        return f"the parcel of flat {i} is late,{' '.join('the parcel of flat is late'.split()[: 6 - i % 6])} now,{i % 6}"

    reading = read(lines("sentence1,sentence2,distance", row))
    assert reading.examples.targets[:6].tolist() == [1, 0.8, 0.6, 0.4, 0.2, 0] and reading.examples.score_range == (5, 0)
    assert reading.notes == ("A high value of 'distance' is taken to mean “different”.",)


def test_labels_that_differ_in_capitals_only_are_one(read):
    blank = lines("sentence1,sentence2,label", lambda i: f"a b {i},c d {i},{['yes', '-', 'cannot say'][i % 3]}", 90)
    assert read(f"{blank}e f,g h,no\n").notes == ()
    writings = ["Same", "SAME", " same ", "Different", "different"]
    reading = read(lines("premise,hypothesis,label", lambda i: f"{pair(i)},{writings[i % 5]}"))
    assert reading.examples.labels == ("Different", "Same") and reading.examples.gold[:5].tolist() == [1, 1, 1, 0, 0]
    assert reading.notes == ("Other spellings of these labels count as them: SAME, different, same.",)


def test_answers_are_one_label_however_they_are_written(read):
    writings = ["yes", "1", "true", "no", "0", "N"]
    reading = read(lines("sentence1,sentence2,label", lambda i: f"{pair(i)},{writings[i % 6]}"))
    assert reading.examples.labels == ("no", "yes") and reading.examples.gold[:6].tolist() == [1, 1, 1, 0, 0, 0]
    reading = read(lines("sentence1,sentence2,label", lambda i: f"{pair(i)},{'x' if i == 7 else i % 2}"))
    assert reading.examples.labels[reading.examples.positive] == "1"
    assert "Beside 0 and 1 there are the labels x: they count as “different”." in reading.notes
    reading = read(lines("sentence1,sentence2,different", lambda i: f"{pair(i)},{'10'[i % 2]}"))
    assert reading.examples.labels[reading.examples.positive] == "0" and reading.examples.gold[:4].tolist() == [0, 1, 0, 1]


def test_each_of_several_wrong_partners_is_an_example(read):
    """As FlagEmbedding writes them, in lists, and as sentence-transformers does, in columns."""

    def record(i):
        negatives = [f"c {i}", " ", f"d {i}"] if i else []
        return json.dumps({"query": f"a {i}", "pos": [f"b {i}"], "neg": negatives, "pos_scores": [1.0]}) + "\n"

    reading = read("".join(map(record, range(ROWS))), name="pairs.jsonl")
    assert reading.mapping == ColumnRoles("triplets", ("query", "pos", "neg"))
    assert reading.skipped == (Skip(1, "blank sentence"),) and reading.examples.rows[:4].tolist() == [2, 2, 3, 3]
    triplets = list(zip(*reading.examples.sentences, strict=True))
    assert triplets[:3] == [("a 1", "b 1", "c 1"), ("a 1", "b 1", "d 1"), ("a 2", "b 2", "c 2")]
    text = lines("anchor,positive,negative_1,negative_2", lambda i: f"{pair(i)},c {i},{f'd {i}' if i % 2 else ''}")
    examples = read(text).examples
    assert examples.sentences[2][:4] == ["c 0", "c 1", "d 1", "c 2"] and examples.rows[:4].tolist() == [1, 2, 2, 3]
    with pytest.raises(UserError, match=f"has {2 * ROWS - 1:,} rows, the limit is {ROWS}"):
        read("".join(map(record, range(ROWS))), name="pairs.jsonl", limits=replace(DEFAULTS, rows=ROWS))


def test_scores_far_from_all_others_and_lists_are_noticed(read):
    reading = read(lines("sentence1,sentence2,score", lambda i: f"{pair(i)},{999 if i == 3 else i % 6}", 90))
    assert reading.notes[0].startswith("1 score is far from the others, such as 999")
    with pytest.raises(UserError, match="'neg' of 'pairs.jsonl' holds lists, not texts"):
        text = "".join(f'{{"query": "a {i}", "pos": "b {i}", "neg": [["c", "d"]]}}\n' for i in range(ROWS))
        read(text, ColumnRoles("triplets", ("query", "pos", "neg")), "pairs.jsonl")


def test_rows_that_cannot_be_used_are_counted_with_their_numbers(read):
    bad = {3: ",", 5: "nan", 8: "inf", 9: "much", 11: ""}

    def row(i):
        return f",the second sentence {i},2" if bad.get(i) == "," else f"{pair(i)},{bad.get(i, i % 5)}"

    reading = read(lines("sentence1,sentence2,score", row))
    reasons = "blank sentence", "score is not finite", "score is not finite", "score is not a number", "blank score"
    assert reading.skipped == tuple(map(Skip, (4, 6, 9, 10, 12), reasons))
    assert len(reading.examples) == ROWS - 5 and np.isfinite(reading.examples.targets).all()


def test_repeated_rows_are_left_out_and_contradictions_named(read):
    text = lines("sentence1,sentence2,score", lambda i: f"{pair(i)},{i % 5}")
    reading = read(text + f"{pair(0)},0\n" + f"{pair(1)},4\n")
    assert [(skip.row, skip.reason) for skip in reading.skipped] == [(31, "repeats an earlier row")]
    assert any("different scores: row 32" in note for note in reading.notes)


SCORED = lines("sentence1,sentence2,score", lambda i: f"{pair(i)},{i % 5}")


@pytest.mark.parametrize(
    ("text", "message", "mapping"),
    [
        (lines("sentence1,sentence2,score", lambda i: f"{pair(i)},3"), "Every score in 'pairs.csv' is 3", ()),
        (lines("premise,hypothesis,label", lambda i: f"{pair(i)},yes"), "has the label 'yes': there is nothing to learn from", ()),
        (lines("sentence1,sentence2,label", lambda i: f"{pair(i)},name{i}", 80), "has 80 different labels", ()),
        (lines("sentence1,sentence2,score", lambda i: f"{pair(i)},{i}", 1), "has 1 usable row, at least 20 are needed", ()),
        (lines("sentence1,sentence2,score", lambda i: f"{pair(i)},nan"), "0 usable rows.*score is not finite", ()),
        (lines("sentence1,sentence2,score", lambda i: f",,{i}"), "0 usable rows.*blank sentence", ()),
        (lines("text,label", lambda i: f"a sentence of some length {i},{i % 2}"), "need two columns of sentences", ()),
        (SCORED, "no column 'missing'. Its columns are: sentence1", ("scored", ("sentence1", "missing"), "score")),
        (SCORED, "'sentence1' is chosen twice", ("scored", ("sentence1", "sentence1"), "score")),
        (SCORED, "need 2 sentence columns, 1 chosen", ("scored", ("sentence1", ""), "score")),
        (SCORED, "need 3 sentence columns, 2 chosen", ("triplets", ("sentence1", "sentence2"))),
        (SCORED, "need a column with the score or label", ("scored", ("sentence1", "sentence2"))),
        (SCORED, "Unknown kind of examples 'guess'", ("guess", ("sentence1", "sentence2"))),
    ],
)
def test_what_cannot_be_learnt_from_and_a_mapping_that_does_not_fit_get_a_message(read, text, message, mapping):
    with pytest.raises(UserError, match=message):
        read(text, ColumnRoles(*mapping) if mapping else None)


def test_overlong_sentences_are_cut_and_told(read):
    reading = read(lines("sentence1,sentence2,score", lambda i: f"{'word ' * (9000 if i == 2 else 1)}{pair(i)},{i % 5}"))
    assert max(map(len, reading.examples.sentences[0])) == Limits().sentence_characters
    assert any("Cut to 20,000 characters: row 3" in note for note in reading.notes)


def test_a_model_remembers_its_own_pairs_and_those_of_its_base_in_either_order_case_and_spacing(tmp_path, scored):
    first, second = scored.sentences
    turned = replace(scored, sentences=([f"  {s.upper()} " for s in second], first))
    assert len(set(digests(scored).tolist())) == len(scored)
    for known in (60, 120):
        remember(tmp_path, turned.take(np.arange(known - 60, known)), trained_on(tmp_path))
        assert np.isin(digests(scored), trained_on(tmp_path)).sum() == known


def test_a_damaged_or_missing_file_means_that_nothing_is_known(tmp_path):
    assert len(trained_on(None)) == len(trained_on(tmp_path)) == 0 < 36_000 < len(trained_on(CROSS_ENCODER))
    np.save(tmp_path / FILE, np.zeros((2, 2)))
    for content in ((tmp_path / FILE).read_bytes(), b"", b"torn", b"\x93NUMPY"):
        (tmp_path / FILE).write_bytes(content)
        assert len(trained_on(tmp_path)) == 0


def test_a_system_that_saw_the_pairs_is_not_called_best(scored):
    data = PairSet("scored", scored)
    knows = System("knows", "m", "1", lambda examples, _: examples.gold, trained_on=digests(scored)[:30])
    fair = System("fair", "m", "2", lambda examples, _: examples.gold + np.random.default_rng(0).normal(0, 0.3, len(examples)))
    cells = {(system.name, 0): measure_cell(system, data) for system in (knows, fair)}
    grid = Grid(("knows", "fair"), (data,), cells)
    assert cells["knows", 0].seen == 30 and spearman(cells["knows", 0].predicted, scored.gold) > cells["fair", 0].value
    assert grid.level(0) == ["fair"] and grid.was_seen(cells["knows", 0], 0)
    (said,), table = grid.seen(), as_markdown(grid)
    assert said.startswith(f"† knows was trained on 30 of the {len(scored)} pairs") and said in table
    assert f"| knows | {times_100(cells['knows', 0].value)}† (" in table
    assert r"$^\dagger$" in as_latex(grid) and "†" not in as_latex(grid)
    assert as_csv(grid).splitlines()[1].endswith(",30")
