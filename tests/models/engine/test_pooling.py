import torch

from sbert_app.models.engine.forward import POOL, cls_pooling, max_pooling, mean_pooling
from sbert_app.models.files.layout import POOLINGS

TOKENS = torch.tensor([[[1.0, -5.0], [3.0, -1.0], [99.0, 99.0]]])
MASK = torch.tensor([[1, 1, 0]])


def test_mean_averages_the_real_tokens_only():
    assert mean_pooling(TOKENS, MASK).tolist() == [[2.0, -3.0]]


def test_max_ignores_padding_even_where_all_real_values_are_negative():
    assert max_pooling(TOKENS, MASK).tolist() == [[3.0, -1.0]]
    assert max_pooling(TOKENS[:, [0, 2]], torch.tensor([[1, 0]])).tolist() == [[1.0, -5.0]]


def test_cls_is_the_first_real_token_also_with_padding_on_the_left():
    assert cls_pooling(TOKENS, MASK).tolist() == [[1.0, -5.0]]
    assert cls_pooling(TOKENS, torch.tensor([[0, 1, 1]])).tolist() == [[3.0, -1.0]]


def test_poolings_leave_their_input_unchanged():
    for pooling in POOL.values():
        tokens = TOKENS.clone()
        pooling(tokens, MASK)
        assert torch.equal(tokens, TOKENS)


def test_a_row_without_any_token_gives_zeros_not_nan():
    assert mean_pooling(TOKENS, torch.zeros(1, 3)).tolist() == [[0.0, 0.0]]


def test_the_names_that_a_folder_may_give_are_those_that_are_computed():
    assert tuple(POOL) == POOLINGS
