"""Check requests for embeddings in OpenAI's form, encode those that arrive together in one call, and write their answers."""

import base64
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.models.files.finding import RUN_NAME
from sbert_app.models.files.layout import quoted
from sbert_app.runtime.device import Device
from sbert_app.runtime.visitors import ASKING, Visitor, asking
from sbert_app.runtime.workbench import Workbench
from sbert_app.vectors import Vectors, in_order

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

MOST_INPUTS = 2_048  # as OpenAI allows in one request
SHORT_TOKENS = 1_500  # a request of up to so many is a short one: about one batch on a CPU
FORMATS = ("float", "base64")
MOST_TOGETHER = 512  # sentences of one call: more are hardly faster, and the first clients would wait for the last


class RefusedError(UserError):
    """A request that is refused. status: of HTTP; param: the field at fault; code: OpenAI's name of the mistake."""

    def __init__(self, text: str, param: str | None = None, status: int = 400, code: str | None = None) -> None:
        super().__init__(text)
        self.param, self.status, self.code = param, status, code


@dataclass(frozen=True)
class EmbeddingRequest:
    """A checked request. tokens: that the model reads, those that mark begin and end among them."""

    encoder: "Encoder"
    sentences: list[str]
    base64: bool
    tokens: int

    def answer(self, vectors: Vectors) -> bytes:
        """The body of the answer. vectors: (n, dim) float32."""
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        values = [base64.b64encode(row).decode() for row in rows] if self.base64 else rows
        answer = {
            "object": "list",
            "data": [{"object": "embedding", "index": i, "embedding": value} for i, value in enumerate(values)],
            "model": self.encoder.name,
            "usage": {"prompt_tokens": self.tokens, "total_tokens": self.tokens},
        }
        return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)


@dataclass(frozen=True, eq=False)
class WaitingSentences:
    """Sentences of one client of a DynamicBatcher, and their embeddings to come, (n, dim) float32."""

    encoder: "Encoder"
    sentences: Sequence[str]
    embeddings: "Future[Vectors]" = field(default_factory=Future)
    visitor: Visitor = field(default_factory=ASKING.get)


class DynamicBatcher:
    """Encodes what waits, oldest first, on a thread of its own. Nobody waits for others to come: an idle device starts at once."""

    def __init__(self, device: Device, short: bool) -> None:
        """short: the requests are short ones, whose batches go before those of long jobs."""
        self._device, self._short = device, short
        self._waiting: deque[WaitingSentences] = deque()
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="batcher")

    def submit(self, encoder: "Encoder", sentences: Sequence[str]) -> "Future[Vectors]":
        """Embed sentences, together with those of others. n strings -> (n, dim) float32, later. A cancelled future is skipped."""
        request = WaitingSentences(encoder, sentences)
        with self._lock:
            self._waiting.append(request)
        self._thread.submit(self._work)  # for each request; one that was taken with others leaves nothing to do
        return request.embeddings

    def _work(self) -> None:
        self._serve([request for request in self._take() if request.embeddings.set_running_or_notify_cancel()])

    def _serve(self, requests: list[WaitingSentences]) -> None:
        """Encode these together and give each its rows. Equal sentences are computed once."""
        if not requests:
            return
        sentences, encoder = [sentence for request in requests for sentence in request.sentences], requests[0].encoder
        ends = np.cumsum([len(request.sentences) for request in requests])
        try:
            with asking(requests[0].visitor):
                embeddings = in_order(self._device.stream(encoder, sentences, short=self._short), len(sentences), encoder.dim)
        except Exception as error:
            if len(requests) == 1:
                requests[0].embeddings.set_exception(error)
            else:  # apart, so that only the request that fails gets the error
                for request in requests:
                    self._serve([request])
            return
        for request, part in zip(requests, np.split(embeddings, ends[:-1]), strict=True):
            request.embeddings.set_result(part)

    def _take(self) -> list[WaitingSentences]:
        """Remove the oldest request from the queue, and others of its visitor and model while they fit into one call."""
        with self._lock:
            taken, room = list[WaitingSentences](), MOST_TOGETHER
            for request in list(self._waiting):
                alike = not taken or (request.encoder, request.visitor) == (taken[0].encoder, taken[0].visitor)
                if alike and (not taken or len(request.sentences) <= room):
                    taken.append(request)
                    room -= len(request.sentences)
                    self._waiting.remove(request)
            return taken


class EmbeddingService:
    """Embeddings by the name of an encoder. Short requests are gathered apart: they do not wait for the end of long ones."""

    def __init__(self, bench: Workbench) -> None:
        self._bench, self._settings = bench, bench.settings
        self._short, self._long = DynamicBatcher(bench.device, short=True), DynamicBatcher(bench.device, short=False)
        self._known: set[str] = set()  # names of the list: reading it takes the disk

    def check_name(self, name: str) -> None:
        """Raise RefusedError for a name that is neither listed nor that of a training run."""
        if name in self._known:
            return
        if RUN_NAME.fullmatch(name):
            exists = (self._settings.home / name / "model").is_dir()
        elif exists := name in self._bench.registry.encoders():  # those of training runs are secret
            self._known.add(name)
        if not exists:
            text = f"There is no model {quoted(name)}. Must be one of {', '.join(self._bench.registry.encoders())}."
            raise RefusedError(text, "model", 404, "model_not_found")

    def is_quick(self, fields: Any) -> bool:
        """Whether a request can be checked without loading a model or listing the models on disk."""
        name = fields.get("model") if isinstance(fields, dict) else None
        return isinstance(name, str) and name in self._known and self._bench.registry.loaded("encoder", name)

    def check(self, fields: Any) -> EmbeddingRequest:
        """Check a request's fields; loads the model if it is new. Raises RefusedError."""
        if not isinstance(fields, dict):
            raise RefusedError("The request must be a JSON object with the fields model and input.")
        if (wanted := fields.get("encoding_format") or FORMATS[0]) not in FORMATS:
            raise RefusedError(f"The encoding_format must be one of {', '.join(FORMATS)}.", "encoding_format")
        sentences = self._sentences(fields.get("input"))
        encoder = self._encoder(fields.get("model"))
        dimensions = fields.get("dimensions")
        if dimensions is not None and (isinstance(dimensions, bool) or dimensions != encoder.dim):
            text = f"The model {quoted(encoder.name)} has {encoder.dim} dimensions, which cannot be changed: leave dimensions out."
            raise RefusedError(text, "dimensions")
        return EmbeddingRequest(encoder, sentences, wanted == "base64", sum(map(len, encoder.tokenize(sentences))))

    def encode(self, request: EmbeddingRequest) -> "Future[Vectors]":
        """The embeddings of a request, later: (n, dim) float32 in the order of its sentences, as the encoder returns them."""
        return (self._short if request.tokens <= SHORT_TOKENS else self._long).submit(request.encoder, request.sentences)

    def _sentences(self, value: Any) -> list[str]:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not values:
            raise RefusedError("The input must be text, or a list of at least one text.", "input")
        if any(isinstance(item, int | list) for item in values):
            raise RefusedError("Tokens are not accepted, because each model has its own: send the input as text.", "input")
        if len(values) > MOST_INPUTS:
            raise RefusedError(f"The input has {len(values):,} texts, at most {MOST_INPUTS:,} are allowed: send several.", "input")
        return [self._sentence(item, number) for number, item in enumerate(values)]

    def _sentence(self, value: Any, number: int) -> str:
        try:
            text = validation.text(value, f"input at index {number}")
        except UserError as error:
            raise RefusedError(str(error), "input") from None
        if not text or text.isspace():
            raise RefusedError(f"The input at index {number} is blank. Leave blank texts out.", "input")
        return text[: self._settings.limits.sentence_characters]

    def _encoder(self, name: Any) -> "Encoder":
        """The encoder of a listed name or of a training run. A path is refused, and so is a name that is not on this machine."""
        if not isinstance(name, str) or not name:
            raise RefusedError("The model must be given by its name; GET /v1/models lists them.", "model")
        self.check_name(name)
        try:
            return self._bench.registry.encoder(name)
        except UserError as error:
            raise RefusedError(str(error), "model", 404, "model_not_found") from error
