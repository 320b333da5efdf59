import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from sbert_app.corpus.cache import EmbeddingCache
from sbert_app.runtime import device as module
from sbert_app.runtime.device import Device, Embedder
from sbert_app.runtime.visitors import ASKING, Visitor, asking


@pytest.fixture
def device():
    return Device()


@pytest.fixture
def encoder(shared_bench, tiny):
    return shared_bench.registry.encoder(str(tiny))


def waiting(device: Device, count: int) -> None:
    """Until so many wait for the device."""
    while len(device._short) + len(device._batches) < count:
        time.sleep(0.001)


def order_of(device: Device, *requests: tuple[str, Visitor]) -> str:
    """In which order requests are served that came while the device was held: s for short, b for batch, or other short ones."""
    served: list[str] = []

    def request(kind: str, visitor: Visitor) -> None:
        with asking(visitor), device.hold(short=kind != "b"):
            served.append(kind)

    threads = [threading.Thread(target=request, args=each) for each in requests]
    with device.hold():
        for number, thread in enumerate(threads, 1):
            thread.start()
            waiting(device, number)
    for thread in threads:
        thread.join()
    return "".join(served)


def test_short_requests_go_before_batches(device, monkeypatch):
    """And batches are not starved."""
    monkeypatch.setattr(module, "SHORT_IN_A_ROW", 2)
    assert order_of(device, *((kind, Visitor()) for kind in "bbsssss")) == "ssbssbs"


def test_it_goes_from_visitor_to_visitor(device):
    ann, bob = Visitor("tab", "10.0.0.1"), Visitor("tab", "10.0.0.2")
    assert order_of(device, *[("a", ann)] * 20, ("c", bob)) in ("c" + 20 * "a", "ac" + 19 * "a") and ASKING.get() == Visitor()


def test_the_next_step_of_a_search_does_not_wait_for_the_batch_that_waited_for_the_first(device, monkeypatch):
    monkeypatch.setattr(module, "NEXT_SECONDS", 0.5)
    order = []

    def batch() -> None:
        with device.hold():
            order.append("batch")

    with ThreadPoolExecutor(1) as pool:
        with device.hold(short=True):
            other = pool.submit(batch)
            waiting(device, 1)
        time.sleep(0.1)  # what a search does between two steps
        with device.hold(short=True):
            order.append("step")
        other.result()
    assert order == ["step", "batch"]


def test_one_holds_it_at_a_time(device):
    inside, most = [0], [0]

    def request(number: int) -> None:
        for _ in range(50):
            with device.hold(short=number % 2 == 0):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(request, range(8)))
    assert most == [1] and not device._held


def test_waiting_is_measured(device):
    def request() -> float:
        with device.hold() as waited:
            return waited

    with ThreadPoolExecutor(1) as pool:
        with device.hold():
            other = pool.submit(request)
            waiting(device, 1)
            time.sleep(0.05)
        assert other.result() >= 0.05


def test_a_long_job_is_free_for_others_between_two_steps(device):
    steps = device.each(iter(range(3)))
    for _ in steps:
        with device.hold(short=True):
            pass
    assert not device._held


@pytest.fixture
def holds(device, monkeypatch) -> list[bool]:
    """Whether each hold of the device is a short one."""
    held: list[bool] = []
    hold = device.hold
    monkeypatch.setattr(device, "hold", lambda short=False: held.append(short) or hold(short))
    return held


@pytest.mark.parametrize(("characters", "short"), [(module.SHORT_CHARACTERS, True), (module.SHORT_CHARACTERS + 1, False)])
def test_a_small_corpus_is_a_short_request(device, holds, encoder, characters, short):
    Embedder(device, EmbeddingCache(None)).embed(encoder, ["a" * (characters - 1), "b"])
    assert {*holds} == {short}


def test_what_is_embedded_does_not_wait_for_the_device_once_more(device, holds, encoder, tmp_path):
    embedder = Embedder(device, EmbeddingCache(tmp_path))
    for batches in (1, 0):  # computed, and looked up
        holds.clear()
        embedder.embed(encoder, ["one", "two"])
        assert len(holds) == batches


def test_what_was_embedded_is_on_disk_while_its_job_goes_on_and_in_one_piece_after(device, encoder, tmp_path):
    sentences = [f"{'a longer letter about number ' * 8}{number}" for number in range(200)]
    with closing(Embedder(device, EmbeddingCache(tmp_path)).job(encoder, sentences).run()) as steps:
        for done in steps:
            _, known = EmbeddingCache(tmp_path).lookup(encoder.fingerprint, sentences, encoder.dim)
            assert known.sum() == done
    assert len(list((tmp_path / encoder.fingerprint).iterdir())) == 1


def test_who_gives_up_waiting_is_not_handed_the_device(device, monkeypatch):
    wait, this_thread = threading.Event.wait, threading.current_thread()

    def interrupted(event, timeout=None):
        if threading.current_thread() is this_thread:
            raise KeyboardInterrupt
        return wait(event, timeout)

    with device.hold():
        monkeypatch.setattr(threading.Event, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt), device.hold():
            pass
    assert not device._held and not device._batches
