"""The short-sentence attention gives what torch's own gives, padding or not."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import LONGEST, short_attention
from sbert_app.models.engine.hardware import Hardware, choose_hardware
from sbert_app.vectors import cosine


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
