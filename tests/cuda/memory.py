"""Out of memory for real: the card is filled until a batch does not fit. Only on CUDA."""

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from sbert_app.models.encoder import Encoder
from tests.cuda.checks import Figures, encoder, gradients, least_cosine, training_on
from tests.cuda.place import CPU, examples, hardware, made_sentences, model_folder

MEBIBYTE = 2**20
HALVED = "out of device memory"


@contextmanager
def filled_card(mebibytes: int) -> Iterator[None]:
    """Take the card's memory but for so much."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    rest = torch.cuda.mem_get_info()[0] - mebibytes * MEBIBYTE
    ballast = torch.empty(max(rest, 0), dtype=torch.uint8, device="cuda")
    try:
        yield
    finally:
        del ballast
        torch.cuda.empty_cache()


def halved(work: Callable[[], Any], sizes: Sequence[int]) -> tuple[Any, Figures]:
    """What the work gives beside a card with so few MiB free that a batch is halved; sizes: to try, from large to small."""
    log, lines = logging.getLogger("sbert_app"), list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    try:
        for mebibytes in sizes:
            with filled_card(mebibytes):
                result = work()
            if halvings := sum(HALVED in line for line in lines):
                break
    finally:
        log.removeHandler(handler)
    assert halvings, sizes
    return result, {"free_mib": float(mebibytes), "halvings": float(halvings)}


def out_of_memory_while_encoding() -> Figures:
    """256 sentences of 256 tokens beside a card that is full: halved, and the embeddings stay the same."""
    sentences = made_sentences(512, 250)
    model = encoder(hardware())
    expected = model.encode(sentences)
    embeddings, figures = halved(lambda: model.encode(sentences), (512, 256, 128, 64))
    figures["cosine"] = least_cosine(embeddings, expected)
    assert figures["cosine"] > 0.9999, figures
    assert least_cosine(model.encode(sentences[:20]), encoder(CPU).encode(sentences[:20])) > 0.9999
    return figures


def out_of_memory_while_training() -> Figures:
    """A batch of 64 pairs beside a card that is full: smaller chunks, the same loss and gradients."""
    data = examples("scored")
    long = [f"{first} {second} " * 12 for first, second in zip(*data.sentences, strict=True)]
    siamese, trainer = training_on(hardware(), "cosent")
    ids = siamese.vocabulary.renumber([siamese.encoder.tokenize([text])[0] for text in long])
    siamese._ids = [[row[:250] for row in ids]] * 2
    siamese.lengths = np.array([len(row) for row in siamese._ids[0]])
    rows = np.arange(48)
    loss, expected = gradients(siamese, trainer, rows)

    def again() -> tuple[float, torch.Tensor]:
        siamese.module.zero_grad(set_to_none=True)
        return gradients(siamese, trainer, rows)

    (found, values), figures = halved(again, (2048, 1024, 512))
    figures |= {"loss": abs(found - loss), "gradient": float((values - expected).norm() / expected.norm())}
    assert figures["loss"] < 1e-3 and figures["gradient"] < 1e-2, figures
    return figures


def memory_returns() -> Figures:
    """What a model and its batches took is free again once the model is gone."""
    encoder.cache_clear()
    _collect()
    before = torch.cuda.memory_allocated()
    model = Encoder.from_folder(model_folder(), hardware())
    model.encode(made_sentences(2_000, 30))
    taken = torch.cuda.max_memory_allocated()
    siamese, trainer = training_on(hardware(torch.bfloat16), "ranking")
    gradients(siamese, trainer, np.arange(16))
    del model, siamese, trainer
    _collect()
    figures = {"peak_mib": taken / MEBIBYTE, "left_mib": (torch.cuda.memory_allocated() - before) / MEBIBYTE}
    assert figures["left_mib"] < 1, figures
    return figures


def _collect() -> None:
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


CHECKS = (out_of_memory_while_encoding, out_of_memory_while_training, memory_returns)
