"""Shared by all jobs: device, sessions, waiting lines, example corpora, the training thread, and the bundle of them."""

from sbert_app.runtime.line import Stop, StoppedError, place_in_line
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench

__all__ = ["Session", "Stop", "StoppedError", "Workbench", "place_in_line"]
