"""Drafts: encoders in int8, for a first index of a large corpus. Named "draft/" and the encoder's name, never the default.

The network is made from the encoder with NNCF, by how it reads the example sentences of this project. Its embeddings are its own:
they never mix with the encoder's, since their fingerprints differ.
"""

import csv
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from sbert_app.errors import UserError
from sbert_app.models.converted import SEALS, ConversionError, network
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.defaults import full_name, is_draft
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import has_int8_instructions
from sbert_app.models.engine.openvino_engine import OpenVinoEngine
from sbert_app.models.files.folders import first_line, quoted
from sbert_app.models.poly_encoder import PolyEncoder
from sbert_app.settings import ASSETS
from sbert_app.storage import read_object

COLUMNS = ("text", "sentence1", "sentence2", "anchor", "positive", "negative")
READ = 300  # example sentences that set the ranges of the activations
NOTE = "A draft in int8: close to {}, not equal. Its loss on your sentences is shown when they are indexed."
NO_GAIN = "This processor has no int8 instructions (VNNI): here a draft is not faster than the model itself."
MISSING = "A draft is made with NNCF, which is not installed: `pip install nncf`, or choose {}."
UNSUITED = "There is no draft of {}, which is no transformer encoder: choose the model itself."
FAILED = "The draft of {} could not be made ({}): choose the model itself."


def refuse_draft(name: str, purpose: str) -> None:
    """Raise UserError for the name of a draft. purpose: what it does not serve for, such as "training"."""
    if is_draft(name):
        raise UserError(f"A draft is not for {purpose}: choose {quoted(full_name(name))} itself.")


def worth_offering() -> bool:
    """Whether a draft can be made here, and is faster than its model."""
    return has_int8_instructions() and find_spec("nncf") is not None


def run_as_draft(encoder: Encoder | CrossEncoder, folder: Path, home: Path, stop: Event) -> None:
    """Let an encoder loaded from `folder` compute in int8; its network is made if it is not in `home`. Raises UserError."""
    full = quoted(full_name(encoder.name))
    if not isinstance(encoder, Encoder) or isinstance(encoder, PolyEncoder) or encoder.of_words:
        raise UserError(UNSUITED.format(full))
    try:
        path = network("draft", (folder,), home, stop, converts=find_spec("nncf") is not None)
        if path is None:
            raise UserError(MISSING.format(full))
        engine = OpenVinoEngine(path, encoder.hardware)
        seals = read_object(path.parent / SEALS)["files"]
    except (ConversionError, RuntimeError, OSError, ValueError, LookupError) as error:
        raise UserError(FAILED.format(full, first_line(error))) from error
    encoder.hardware = replace(encoder.hardware, int8=True)
    encoder.network_seal = f"{sorted(seals.items())}"
    _ = encoder.fingerprint  # of the weights, which it gives up
    encoder.use(engine)
    encoder.engine_note = " ".join(filter(None, (NOTE.format(full), "" if has_int8_instructions() else NO_GAIN)))


def quantised(converted: Any, encoder: Encoder) -> Any:
    """The int8 network of a converted encoder. SmoothQuant as NNCF sets it: alpha 0.5: mean cosine 0.98, not 0.995 (AVX2)."""
    import nncf  # an extra; slow: seconds

    batches = [{name: value.numpy() for name, value in encoder.pad([ids]).items()} for ids in encoder.tokenize(example_sentences())]
    return nncf.quantize(
        converted,
        nncf.Dataset(batches),
        subset_size=len(batches),
        model_type=nncf.ModelType.TRANSFORMER,
        preset=nncf.QuantizationPreset.MIXED,  # activations have a zero point: without, 0.95
    )


def example_sentences() -> list[str]:
    """Sentences that come with the app, always the same, of every example file."""
    sentences = list(dict.fromkeys(chain.from_iterable(map(_sentences, sorted(ASSETS.glob("*/*.csv"))))))
    chosen = np.random.default_rng(0).permutation(len(sentences))[:READ]
    return [sentences[i] for i in chosen.tolist()]


def _sentences(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield from filter(None, (row.get(column) for column in COLUMNS))
