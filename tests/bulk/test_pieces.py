"""Pieces: cut at the same rows every time, named by what they hold."""

import json
from dataclasses import replace

import pytest

from sbert_app.bulk.pieces import SENTENCE_CHARACTERS, Cutter, first_facts, known_facts
from sbert_app.bulk.reading import Tally, chunks
from sbert_app.collections.collection import Facts
from sbert_app.errors import UserError


def facts_of(path, *wanted):
    return first_facts(next(chunks(path, Tally())), wanted)


def pieces(path, rows=10, facts=None):
    cutter = Cutter(facts or facts_of(path), rows)
    return list(cutter.pieces(path)), cutter


def csv_of(count, first=1):
    return "id,text\n" + "".join(f"{i},sentence {i}\n" for i in range(first, first + count))


def test_pieces_have_no_gaps_and_blank_sentences_are_counted(write):
    cut, cutter = pieces(write("a.csv", csv_of(12) + "13, \n14,x\n15\n" + csv_of(10, 16).split("\n", 1)[1]))
    assert [(piece.start, piece.end, len(piece.rows)) for piece in cut] == [(0, 10, 10), (10, 20, 8), (20, 25, 5)]
    assert cut[1].rows == [11, 12, 14, 16, 17, 18, 19, 20] and cut[1].metadata["id"][2] == "14"
    assert dict(cutter.tally.reasons) == {"1 cells where the header has 2": 1, "blank sentence": 1}


def test_pieces_do_not_depend_on_how_the_reader_chunks(write):
    cut, _ = pieces(write("a.csv", csv_of(5000)), rows=700)
    assert [piece.end for piece in cut] == [700, 1400, 2100, 2800, 3500, 4200, 4900, 5000]
    assert [row for piece in cut for row in piece.rows] == list(range(1, 5001))


def test_a_long_stretch_without_sentences_leaves_no_gap(write):
    bad = "".join("no comma\n" for _ in range(35))
    cut, _ = pieces(write("a.csv", csv_of(53) + bad + "89,last\n"))
    assert [(piece.start, piece.end, piece.rows) for piece in cut[5:]] == [(50, 80, [51, 52, 53]), (80, 89, [89])]


def test_texts_that_are_long_end_a_piece_early(write, monkeypatch):
    monkeypatch.setattr("sbert_app.bulk.pieces.PIECE_CHARACTERS", 50_000)
    cut, _ = pieces(write("a.jsonl", "".join(json.dumps({"text": "x" * 100}) + "\n" for _ in range(3000))), rows=10_000)
    assert [(piece.start, piece.end) for piece in cut] == [(0, 1024), (1024, 2048), (2048, 3000)]


def test_a_key_names_the_sentences_and_the_content_every_cell(write):
    cut = [pieces(write(name, text))[0][0] for name, text in (
        ("a.csv", "id,text\n1,x\n"), ("b.csv", "id,text\n2,x\n"), ("c.csv", "id,text\n1,y\n"), ("d.csv", "id,text\n\n1,x\n")
    )]  # fmt: skip
    assert cut[0].key("m") == cut[1].key("m") != cut[2].key("m") and cut[0].key("m") != cut[0].key("other")
    assert len({piece.content for piece in cut}) == 4


def test_several_columns_are_joined_and_long_sentences_cut(write):
    path = write("a.csv", f"title,n,body\nA,1, b \n,2,{'w' * (SENTENCE_CHARACTERS + 5)}\n")
    facts = facts_of(path, "body", "title")
    [piece], cutter = pieces(path, facts=facts)
    assert piece.sentences == ["A b", "w" * SENTENCE_CHARACTERS] and facts.sentence == "title + body"
    assert facts.columns == ("n",) and cutter.tally.reasons["cut to 50,000 characters"] == 1


def test_the_first_file_decides_which_columns_there_are(write):
    first = write("a.csv", "text,team,day\nx y z,A,2026-03-01\n")
    other = write("b.jsonl", '{"text": "q", "size": 3}\n{"team": "B"}\n')
    facts = facts_of(first)
    assert (facts.joined, facts.columns, facts.scales) == (("text",), ("team", "day"), {"day": "date"})
    [piece], cutter = pieces(other, facts=facts)
    assert piece.metadata == {"team": [""], "day": [""]} and cutter.ignored == {"size": "b.jsonl"}


def test_a_file_without_the_sentence_column_is_refused(write):
    path = write("b.csv", "message,team\nq,B\n")
    with pytest.raises(UserError, match=r"'b.csv' has no column 'text'. Its columns are: message, team."):
        pieces(path, facts=Facts("m", "f", 3, "text", (), {}, (), joined=("text",)))


def test_the_sentence_column_of_a_collection_cannot_change():
    facts = Facts("m", "f", 3, "title + body", ("n",), {}, ())
    assert known_facts(facts, (), ()) == known_facts(facts, ["body", "title"], ()) == replace(facts, joined=("title", "body"))
    with pytest.raises(UserError, match="are the column 'title \\+ body'"):
        known_facts(facts, ["n"], ())
