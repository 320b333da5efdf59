"""Sentences side by side in a row: each is whole, all are there, and there is never more to compute than with padding."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from sbert_app.models.engine.forward import attention_mask, pad_rows
from sbert_app.models.engine.packing import ROW, Packing, equal_batches, with_positions

CPU = torch.device("cpu")
LENGTHS = st.lists(st.integers(1, 120), min_size=1, max_size=60)


def batch(lengths):
    """A padded batch of rows of so many ids, each id another."""
    first = [sum(lengths[:i]) + 1 for i in range(len(lengths))]
    rows = [list(range(start, start + length)) for start, length in zip(first, lengths, strict=True)]
    return {"input_ids": pad_rows(rows, 0, CPU), "attention_mask": attention_mask(rows, CPU)}


@given(LENGTHS)
def test_each_sentence_is_whole_in_a_row_under_its_number_and_comes_back_as_it_was(lengths):
    features = batch(lengths)
    packing = Packing(features)
    ids, numbers, positions = (packing.features[name] for name in ("input_ids", "attention_mask", "position_ids"))
    assert ids.numel() <= features["input_ids"].numel() and ((ids == 0) == (numbers == 0)).all()
    for number, row in enumerate(features["input_ids"], start=1):
        lines, places = (numbers == number).nonzero(as_tuple=True)
        assert len(set(lines.tolist())) == 1 and ids[lines, places].tolist() == row[row > 0].tolist()
        assert positions[lines, places].tolist() == list(range(lengths[number - 1]))
    assert (packing.undone(ids[:, :, None].float())[:, :, 0] == features["input_ids"]).all()


def test_short_sentences_share_rows_and_long_ones_have_their_own():
    assert Packing(batch([12] * 39 + [24])).features["input_ids"].shape == (5, 108)
    assert Packing(batch([12] * 40)).features["input_ids"].shape == (40, 12)
    assert Packing(batch([7])).features["input_ids"].shape == (1, 7)
    long = batch([ROW + 4, ROW + 3, ROW + 2])
    assert {name: value.tolist() for name, value in Packing(long).features.items()}["position_ids"] == [
        [*range(length), *[0] * (ROW + 4 - length)] for length in (ROW + 4, ROW + 3, ROW + 2)
    ]
    assert (with_positions(long)["position_ids"] == torch.arange(ROW + 4)).all()


@given(LENGTHS, st.integers(1, 8))
def test_batches_of_about_as_many_tokens_hold_every_row_once(lengths, count):
    batches = equal_batches(lengths, count)
    assert sorted(row for rows in batches for row in rows.tolist()) == list(range(len(lengths))) and len(batches) <= count
    assert all(sum(lengths[row] for row in rows) <= sum(lengths) / count + max(lengths) for rows in batches)
