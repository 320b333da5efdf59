"""Damage every kind of file of a data home and use the home: `python -m tests.attacks damage`.

Every file is emptied, cut, flipped, replaced by a folder, by `null`, by random bytes; every folder is replaced by a file.
A fault is: anything raised that is no sentence for a person; another result than before, without a sentence; something else
in the home that no longer works.
"""

import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sbert_app.errors import OUR_FAULT, UserError
from sbert_app.jobs.corpus.opening import delete_saved, open_saved
from sbert_app.jobs.fine_tune import running
from sbert_app.runs.records import FINISHED
from sbert_app.runtime.workbench import Workbench
from tests.attacks.bound import bounded
from tests.attacks.small_home import BASE, SAVED, SENTENCES, Ids, build, index, plan, resumed, settings, training_data
from tests.damaging import flip
from tests.searching import search

random = np.random.default_rng(0)


# Damages: change the file at a path


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "a file").write_text("in it")


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "flipped at the start": lambda path: flip(path, 0.02, int(random.integers(8))),
    "flipped in the middle": lambda path: flip(path, 0.5, int(random.integers(8))),
    "flipped at the end": lambda path: flip(path, 0.97, int(random.integers(8))),
    "a folder": _folder,
    "null": lambda path: path.write_text("null"),
    "random bytes": lambda path: path.write_bytes(random.bytes(max(16, path.stat().st_size // 100))),
}


def replace_folder(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("a file")


# Checks: use one thing of the home; each gives a value that is the same for the whole home


@dataclass(frozen=True)
class Visit:
    """A start of the app over the home."""

    ids: Ids
    bench: Workbench

    def encode(self, model: str) -> Any:
        return self.bench.device.encode(self.bench.registry.encoder(model), SENTENCES[:3]).tolist()

    def search(self, session: str) -> Any:
        hits = search(self.bench, session, "the card cannot be found", 5, ranking="hybrid").hits
        return [(hit.row, hit.sentence, round(hit.score, 5)) for hit in hits]

    def corpora(self) -> Any:
        return [entry.id for entry in self.bench.library.list()]

    def open_corpus(self) -> Any:
        session = self.bench.sessions.open()
        open_saved(self.bench, session, self.ids.corpus)
        return self.search(session)

    def index_again(self) -> Any:
        return self.search(index(self.bench, SENTENCES))

    def index_more(self) -> Any:
        return self.search(index(self.bench, [*SENTENCES, "one sentence more"]))

    def delete_corpus(self) -> Any:
        delete_saved(self.bench, self.ids.corpus)
        return self.ids.corpus in self.corpora()

    def runs(self) -> Any:
        running.active_run(self.bench)
        return sorted(info.id for info in running.rows(self.bench))

    def finished(self) -> Any:
        progress = running.state(self.bench, self.ids.finished)
        return progress.plan, progress.result, len(running.find(self.bench, self.ids.finished).split().held_out)

    def finished_model(self) -> Any:
        return self.encode(f"runs/{self.ids.finished}")

    def keep_model(self) -> Any:
        return self.encode(running.save_model(self.bench, self.ids.finished, running.free_name(self.bench, "kept")))

    def rename(self) -> Any:
        running.rename(self.bench, self.ids.finished, "better name")

    def delete_finished(self) -> Any:
        running.delete(self.bench, self.ids.finished)
        return self.ids.finished in self.runs()

    def interrupted(self) -> Any:
        progress = running.state(self.bench, self.ids.interrupted)
        return progress.plan, progress.info.state

    def resume(self) -> Any:
        """Go on to the end: the same verdict as that of the run which was never interrupted."""
        progress = resumed(self.bench, self.ids.interrupted)
        if progress.info.state != FINISHED:
            raise RuntimeError(progress.info) if progress.info.message.startswith(OUR_FAULT) else UserError(progress.info.message)
        return np.round(progress.result.after, 5).tolist() if progress.result else None

    def new_run(self) -> Any:
        data = training_data(self.bench)
        running.delete(self.bench, running.create(self.bench, data, plan(data)).id)

    def models(self) -> Any:
        return sorted(info.name for info in self.bench.registry.list())

    def saved_model(self) -> Any:
        return self.encode(SAVED)


# What each check needs of the home, beside the model BASE. None: it must work whatever is damaged.
CHECKS: dict[str, str | None] = {
    "corpora": None, "runs": None, "models": "models/saved", "open_corpus": "corpora", "index_again": None, "index_more": None,
    "finished": "finished", "finished_model": "finished", "keep_model": "finished", "saved_model": "models/saved",
    "interrupted": "interrupted", "resume": "interrupted", "new_run": "runs", "rename": "finished",
    "delete_finished": "", "delete_corpus": "",
}  # fmt: skip


def outcome(visit: Visit, name: str, expected: Any, excused: bool) -> str:
    """ "same", "sentence", or what is wrong. excused: the check needs what was damaged, so that a sentence is right."""
    try:
        value = getattr(visit, name)()
    except UserError as error:
        return "sentence" if excused else f"UNUSABLE: {error}"
    except BaseException as error:  # a panic of a Rust library is no Exception
        return f"TRACEBACK: {type(error).__name__}: {error}"
    return "same" if expected is None or value == expected else "CHANGED UNNOTICED"


def cases(home: Path) -> Iterator[tuple[Path, str, Callable[[Path], Any]]]:
    """Each file with each damage, then each folder: paths inside the home. The model that everything needs stays whole."""
    paths = sorted(path.relative_to(home) for path in home.rglob("*") if BASE not in path.relative_to(home).parts)
    for path in paths:
        if (home / path).is_dir():
            if path != Path("models"):
                yield path, "a file", replace_folder
        else:
            size = (home / path).stat().st_size
            yield from ((path, name, damage) for name, damage in DAMAGES.items() if size or name in ("a folder", "null"))


def concerned(path: Path, need: str | None, ids: Ids) -> bool:
    """Whether the damaged path is something that the check needs."""
    if need is None:
        return False
    needed = {"finished": f"runs/{ids.finished}", "interrupted": f"runs/{ids.interrupted}"}.get(need, need)
    return path.as_posix().startswith(needed) or needed.startswith(path.as_posix())


def expectations(home: Path, ids: Ids) -> dict[str, Any]:
    """What each check gives in the whole home."""
    visit = Visit(ids, Workbench(settings(home)))
    values = {name: getattr(visit, name)() for name in CHECKS}
    if values["resume"] != np.round(values["finished"][1].after, 5).tolist():
        raise RuntimeError("the resumed run differs from the one that was not interrupted")
    return values


def attack(home: Path, whole: Path, ids: Ids, case: tuple[Path, str, Callable[[Path], Any]], expected: dict[str, Any]) -> list[str]:
    """The outcomes of one damage, and a line for each fault."""
    path, name, damage = case
    shutil.rmtree(home)
    shutil.copytree(whole, home)
    damage(home / path)
    outcomes, visit = [], Visit(ids, Workbench(settings(home)))
    for check, need in CHECKS.items():
        if check == "resume" and not concerned(path, need, ids):
            continue  # half a second each
        # A folder that became a file holds nothing any more: its things are gone, and that is told or listed as such.
        folders = ("corpora", "runs", "models/saved", *(f"runs/{i}" for i in (ids.finished, ids.interrupted)))
        gone = name == "a file" and path.as_posix() in folders
        result = outcome(visit, check, None if gone else expected[check], gone or concerned(path, need, ids))
        outcomes.append(result.split(":")[0])
        if outcomes[-1].isupper():
            print(f"{path} {name}: {check}: {result[:300]}", flush=True)
    return outcomes


def main(folder: Path) -> bool:
    """Whether no damage is a fault."""
    logging.disable(logging.ERROR)
    whole, home = folder / "whole", folder / "home"
    ids = build(whole)
    shutil.copytree(whole, home)
    expected = expectations(home, ids)
    counts: Counter[str] = Counter()
    for total, case in enumerate(bounded(cases(whole)), 1):
        counts.update(attack(home, whole, ids, case, expected))
        if total % 50 == 0:
            print(f"{total} damages: {dict(counts)}", flush=True)
    print(f"{total} damages, {sum(counts.values())} uses: {dict(counts)}")
    return not any(name.isupper() for name in counts)
