"""Requests that wait for the device are encoded in one call, each gets its own rows, and nobody pays for another's mistake."""

from concurrent.futures import Future

import numpy as np
import pytest

from sbert_app.models.encoder import Encoder
from sbert_app.runtime.device import Device
from sbert_app.serve import embeddings as module
from sbert_app.serve.embeddings import DynamicBatcher
from tests.runtime.test_device import waiting


class Recording:
    """An encoder that notes the sentences of each call, and fails where one of them is "broken"."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder, self.dim, self.calls = encoder, encoder.dim, []

    def stream(self, sentences, prompt=""):
        self.calls.append(list(sentences))
        if "broken" in sentences:
            raise RuntimeError("a fault of the model")
        return self._encoder.stream(sentences, prompt)


@pytest.fixture
def recording(encoder):
    return Recording(encoder)


@pytest.fixture
def device():
    return Device()


@pytest.fixture
def batcher(device):
    return DynamicBatcher(device, short=True)


def together(device: Device, batcher: DynamicBatcher, encoders, requests: list[list[str]]) -> list[Future]:
    """Submit requests while the device is busy; the first of them waits for it already, so that the others gather."""
    with device.hold():
        first = batcher.submit(encoders[0], ["the first one"])
        waiting(device, 1)
        futures = [batcher.submit(encoder, sentences) for encoder, sentences in zip(encoders, requests, strict=True)]
    first.result(20)
    return futures


def test_requests_that_wait_are_one_call_and_each_gets_its_rows(device, batcher, recording, encoder, sentences):
    requests = [sentences[i * 3 : i * 3 + 1 + i % 3] for i in range(16)]
    futures = together(device, batcher, [recording] * 16, requests)
    for request, future in zip(requests, futures, strict=True):
        assert np.allclose(future.result(20), encoder.encode(request), atol=1e-5)
    assert [len(call) for call in recording.calls] == [1, sum(map(len, requests))]


def test_nobody_waits_for_others_to_come(device, batcher, recording):
    with device.hold(short=True):
        future = batcher.submit(recording, ["alone"])
        waiting(device, 1)
        assert recording.calls == [["alone"]] and not future.done()
    assert future.result(20).shape == (1, recording.dim)


def test_a_request_that_fails_does_not_hurt_the_others(device, batcher, recording, encoder):
    good, bad, other = together(device, batcher, [recording] * 3, [["a cat"], ["broken"], ["a dog", "a car"]])
    assert np.allclose(good.result(20), encoder.encode(["a cat"]), atol=1e-5)
    assert np.allclose(other.result(20), encoder.encode(["a dog", "a car"]), atol=1e-5)
    with pytest.raises(RuntimeError, match="a fault of the model"):
        bad.result(20)


def test_models_are_not_mixed_and_a_call_is_bounded(device, batcher, encoder, monkeypatch):
    monkeypatch.setattr(module, "MOST_TOGETHER", 4)
    one, two = Recording(encoder), Recording(encoder)
    requests = [["a"], ["b"], ["c", "d"], ["e", "f", "g", "h", "i"], ["j"]]
    futures = together(device, batcher, [one, two, one, one, one], requests)
    assert [len(future.result(20)) for future in futures] == [1, 1, 2, 5, 1]
    assert one.calls == [["the first one"], ["a", "c", "d", "j"], ["e", "f", "g", "h", "i"]] and two.calls == [["b"]]


def test_a_cancelled_request_is_not_encoded(device, batcher, recording):
    with device.hold():
        first = batcher.submit(recording, ["first"])
        waiting(device, 1)
        batcher.submit(recording, ["nobody waits for it"]).cancel()
        last = batcher.submit(recording, ["last"])
    first.result(20)
    last.result(20)
    assert recording.calls == [["first"], ["last"]]
