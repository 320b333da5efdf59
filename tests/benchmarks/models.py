"""The bundled models on the engine that the app uses on this machine, converted once into .bench/openvino."""

from pathlib import Path
from threading import Event
from typing import TypeVar

from sbert_app.models.acceleration import Acceleration
from sbert_app.models.bundled import bundled_cross_encoder
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import Hardware, choose_hardware
from sbert_app.models.files.finding import CROSS_ENCODER, checked_bundled_folder
from sbert_app.models.networks import network

HOME = Path(".bench") / "openvino"

Model = TypeVar("Model", Encoder, CrossEncoder)


def on_torch(precision: str = "auto") -> Encoder:
    """The bundled encoder without another engine."""
    return Encoder.from_folder(checked_bundled_folder(), choose_hardware(precision=precision))


def encoder(hardware: Hardware) -> Encoder:
    folder = checked_bundled_folder()
    return accelerated(Encoder.from_folder(folder, hardware), folder)


def cross_encoder(hardware: Hardware) -> CrossEncoder:
    return accelerated(bundled_cross_encoder(CROSS_ENCODER, hardware, ""), checked_bundled_folder(), CROSS_ENCODER)


def accelerated(model: Model, *folders: Path, home: Path = HOME) -> Model:
    """The model, loaded from `folders`, once it has its engine. It stays on torch where the app would leave it there."""
    acceleration = Acceleration(home, model.hardware, patience=0)
    acceleration.begin(model, folders)
    acceleration.wait()
    if model.engine_note:
        print(f"  {model.engine_note}", flush=True)
    return model


def encoder_network() -> Path:
    """The bundled encoder's network, the .xml file that the app runs too."""
    path = network("encoder", (checked_bundled_folder(),), HOME, Event())
    assert path is not None
    return path
