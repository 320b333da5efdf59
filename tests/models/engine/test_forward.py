"""A forward pass: batches of rows, attention of short sentences as torch's own gives it, padding or not, and pooling."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import LONGEST, POOL, short_attention
from sbert_app.models.engine.hardware import Hardware, choose_hardware
from sbert_app.models.engine.packing import token_budget_batches
from sbert_app.models.files.layout import POOLINGS
from sbert_app.vectors import cosine, distinct

TOKENS = torch.tensor([[[1.0, -5.0], [3.0, -1.0], [99.0, 99.0]]])


@given(st.lists(st.integers(1, 300), max_size=200), st.integers(1, 2_000))
def test_every_row_is_batched_exactly_once_within_the_budget(lengths, budget):
    batches = token_budget_batches(lengths, budget)
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget


def test_batches_group_similar_lengths_and_do_not_come_sorted_so_that_the_rate_is_fair():
    lengths = [3, 50, 4, 51, 3, 49]
    kinds = [{lengths[row] > 10 for row in batch} for batch in token_budget_batches(lengths, 160)]
    assert kinds == [{False}, {True}] or kinds == [{True}, {False}]
    lengths = list(range(1, 200))
    widths = [max(lengths[row] for row in batch) for batch in token_budget_batches(lengths, 400)]
    assert widths != sorted(widths)


@given(st.lists(st.text(max_size=3), max_size=50))
def test_distinct_gives_each_sentence_once_and_the_way_back(sentences):
    unique, inverse = distinct(sentences)
    assert len(set(unique)) == len(unique)
    assert [unique[i] for i in inverse] == sentences
    assert inverse.dtype == np.int64


class Module:
    """What attention asks of the layer that calls it."""

    training = False
    is_causal = False


def parts(tokens, heads=3):
    generator = torch.Generator().manual_seed(tokens)
    return [torch.randn(4, heads, tokens, 8, generator=generator) for _ in range(3)]


@pytest.mark.parametrize("tokens", [1, 7, 32, LONGEST, LONGEST + 1])
@pytest.mark.parametrize(("padded", "scaling"), [(False, 0.25), (True, 0.25), (True, None)])
def test_equals_torchs_own(tokens, padded, scaling):
    query, key, value = parts(tokens)
    mask = torch.zeros(4, 1, tokens, tokens)
    if padded:
        mask[1:, :, :, tokens // 2 + 1 :] = torch.finfo(torch.float32).min
    output, _ = short_attention(Module(), query, key, value, mask if padded else None, scaling=scaling)
    expected = scaled_dot_product_attention(query, key, value, mask, scale=scaling).transpose(1, 2)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


def test_grouped_heads_go_to_torchs_own():
    query, _, _ = parts(5, heads=4)
    _, key, value = parts(5, heads=2)
    module = Module()
    module.num_key_value_groups = 2
    output, _ = short_attention(module, query, key, value, None, scaling=0.25)
    expected = scaled_dot_product_attention(query, key.repeat_interleave(2, 1), value.repeat_interleave(2, 1), scale=0.25)
    torch.testing.assert_close(output, expected.transpose(1, 2), rtol=1e-5, atol=1e-5)


def test_used_in_bf16_on_a_cpu_and_nowhere_else(model_folder, encoder, sentences):
    fast = Encoder.from_folder(model_folder, Hardware(torch.device("cpu"), torch.bfloat16))
    assert fast.transformer.config._attn_implementation == "short"
    assert Encoder.from_folder(model_folder, choose_hardware("cpu", "fp32")).transformer.config._attn_implementation == "sdpa"
    few = [*sentences[:20], "one", " ".join(sentences[:20])]
    assert min(map(cosine, fast.encode(few), encoder.encode(few))) > 0.999


@pytest.mark.parametrize(("name", "mask", "expected"), [
    ("mean", [1, 1, 0], [2.0, -3.0]), ("mean", [0, 0, 0], [0.0, 0.0]),  # not NaN
    ("max", [1, 1, 0], [3.0, -1.0]), ("max", [1, 0, 0], [1.0, -5.0]),
    ("cls", [1, 1, 0], [1.0, -5.0]), ("cls", [0, 1, 1], [3.0, -1.0]),
])  # fmt: skip
def test_pooling_is_of_the_real_tokens_wherever_the_padding_is_and_leaves_them_unchanged(name, mask, expected):
    tokens = TOKENS.clone()
    assert POOL[name](tokens, torch.tensor([mask])).tolist() == [expected]
    assert torch.equal(tokens, TOKENS)


def test_the_names_that_a_folder_may_give_are_those_that_are_computed():
    assert tuple(POOL) == POOLINGS
