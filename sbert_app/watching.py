"""Watch the jobs of the app: a line of the log for each, and for what failed by our fault a number that visitor and log share.

Every handler of the page, endpoint, request to /v1 and training is `watched`, and nothing else is counted: /metrics reads these
lines. A log that others may read holds no word of a visitor: in JSON and hosted, a `Private` text and the text of an error are
left out.
"""

import copy
import json
import logging
import os
import secrets
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sbert_app.errors import EndedEarlyError, FaultError, UserError

OK, REFUSED, STOPPED, FAILED = "ok", "refused", "stopped", "failed"
ENDED = "a job ended"  # the message of its line
TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
OURS = "sbert_app.", "__main__"  # beginnings of the names of loggers whose messages are written by this project

JOBS = logging.getLogger(__name__)  # of the lines that tell how jobs ended


class Private(str):
    """What a visitor wrote or named, such as the path of a model. The log of an app at home shows it, no other does."""


@dataclass
class Watched:
    """A job on its way. number: finds it in the log; sizes: counts such as rows, to be filled in."""

    number: str
    outcome: str = OK
    sizes: dict[str, int] = field(default_factory=dict)

    def count_items(self, answer: Any) -> None:
        """Note how long the longest list of an answer is, which may come with a file."""
        summary = answer[0] if isinstance(answer, tuple) else answer
        parts = summary.values() if isinstance(summary, dict) else [summary]
        self.sizes["items"] = max((len(part) for part in parts if isinstance(part, list)), default=0)


@contextmanager
def watched(door: str, job: str) -> Iterator[Watched]:
    """Log how the job in the block ended. An error that is not the visitor's is logged and becomes a FaultError with its number."""
    current, start = Watched(secrets.token_hex(3)), time.perf_counter()
    about: dict[str, Any] = {"number": current.number, "door": door, "job": job}
    try:
        yield current
    except UserError as error:
        current.outcome = STOPPED if isinstance(error, EndedEarlyError) else REFUSED
        raise
    except Exception as error:
        current.outcome = FAILED
        raise admitted(f"{job} ({door}) failed", about) from error
    except BaseException:  # whoever waited for it has left
        current.outcome = STOPPED
        raise
    finally:
        milliseconds = round(1_000 * (time.perf_counter() - start), 1)
        JOBS.info(ENDED, extra={"about": {**about, "outcome": current.outcome, "milliseconds": milliseconds, **current.sizes}})


def admitted(what: str, about: Mapping[str, Any] | None = None) -> FaultError:
    """Log the error that is being handled, under a number. Returns what its visitor may know."""
    about = about or {"number": secrets.token_hex(3)}
    JOBS.exception("%s, number %s", what, about["number"], extra={"about": about})
    return FaultError(about["number"])


class DiscreetFormatter(logging.Formatter):
    """Lines of text without a word of a visitor."""

    def format(self, record: logging.LogRecord) -> str:
        shown = copy.copy(record)
        shown.msg, shown.args, shown.exc_text = self.message(record), None, None
        return super().format(shown)

    def message(self, record: logging.LogRecord) -> str:
        """The message. Of a library's, only the first line of its pattern: what is filled in may be anything."""
        if not record.name.startswith(OURS):
            return str(record.msg).partition("\n")[0]
        return str(record.msg) % tuple(map(_discreet, record.args)) if isinstance(record.args, tuple) else str(record.msg)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        """As Python writes a traceback, but of what an error says, only its type; what caused it comes last."""
        error, parts = ei[1], []
        while error is not None:
            frames = "".join(traceback.format_tb(error.__traceback__))
            parts.append(f"Traceback (most recent call last):\n{frames}{_discreet(error)}")
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "\ncaused by: ".join(parts)


class JsonFormatter(DiscreetFormatter):
    """One JSON object a line: time, level, logger, message, and what the record is about."""

    def format(self, record: logging.LogRecord) -> str:
        when = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"
        line = {"time": when, "level": record.levelname, "logger": record.name, "message": self.message(record)}
        line |= getattr(record, "about", {})
        if record.exc_info and record.exc_info[1]:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log_as(kind: str, hosted: bool) -> None:
    """Log to stderr from now on: kind "json", or "text", which leaves out what is only of use to machines, the ends of jobs."""
    as_json, handler = kind == "json", logging.StreamHandler()
    handler.addFilter(lambda record: as_json or record.msg is not ENDED)
    handler.setFormatter(JsonFormatter() if as_json else (DiscreetFormatter if hosted else logging.Formatter)(TEXT))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(as_json)
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _discreet(value: object) -> object:
    """A value as every log may show it."""
    if isinstance(value, OSError) and value.errno:
        return f"{type(value).__name__} ({os.strerror(value.errno)})"
    if isinstance(value, BaseException):
        return type(value).__name__
    return "…" if isinstance(value, Private) else value
