"""Stands for the package `spaces` on ZeroGPU: `GPU` forks a worker for each call, pickles what goes in and what comes out, refuses
CUDA outside of a worker, kills it when its seconds are over, and lends no more than the quota. Its GPU is this machine's CPU.
"""

import multiprocessing
import pickle
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import torch

FORK = multiprocessing.get_context("fork")


class Error(Exception):
    """As Gradio's: a message apart from the text."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.message = message


@dataclass
class Quota:
    """Seconds left, and those asked for in each loan."""

    left: float = 1e9
    asked: list[int] = field(default_factory=list)


quota = Quota()


def refuse_cuda() -> None:
    raise RuntimeError("CUDA was called outside of a worker")


real_init, torch.cuda._lazy_init = torch.cuda._lazy_init, refuse_cuda


def GPU(task: Callable[..., Generator[Any, None, None]], *, duration: Callable[..., int]) -> Callable[..., Any]:  # noqa: N802
    def borrow(*args: Any) -> Generator[Any, None, None]:
        asked = duration(*args)
        if asked > quota.left:
            raise Error(
                f"You have exceeded your ZeroGPU quota ({asked}s requested vs. {quota.left:.0f}s left). Try again in 3:00:00."
            )
        quota.left -= asked
        quota.asked.append(asked)
        stop, (here, there) = FORK.Event(), FORK.Pipe()
        worker = FORK.Process(target=_work, args=(task, there, here, stop), daemon=True)
        worker.start()
        there.close()
        end = threading.Timer(asked, worker.kill)
        end.start()
        try:
            here.send_bytes(pickle.dumps(args))
            yield from _received(here)
        except EOFError:
            raise Error("GPU task aborted") from None
        finally:
            stop.set()
            while True:  # as the real one, which waits until the worker has closed its generator
                try:
                    here.recv_bytes()
                except (EOFError, ConnectionError):
                    break
            worker.join()
            end.cancel()

    return borrow


def _received(here: Connection) -> Generator[Any, None, None]:
    while True:
        kind, value = pickle.loads(here.recv_bytes())
        if kind == "end":
            return
        if kind == "error":
            raise Error(value)
        yield value


def _work(task: Callable[..., Any], there: Connection, here: Connection, stop: Any) -> None:
    """In a thread of its own, as in the real worker: the pool of OpenMP's threads stayed in the other process."""
    here.close()
    torch.cuda._lazy_init = real_init
    thread = threading.Thread(target=_iterate, args=(task, there, stop))
    thread.start()
    thread.join()


def _iterate(task: Callable[..., Any], there: Connection, stop: Any) -> None:
    values = task(*pickle.loads(there.recv_bytes()))
    try:
        for value in values:
            if stop.is_set():
                values.close()
                break
            there.send_bytes(pickle.dumps(("value", value)))
        there.send_bytes(pickle.dumps(("end", None)))
    except Exception as error:
        there.send_bytes(pickle.dumps(("error", type(error).__name__)))
