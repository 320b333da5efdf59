"""Kill bulk indexing at random moments and start it again: `python -m tests.attacks.bulk_kills [KILLS] [STORE] [ray|server]`.

A child process indexes a folder of files into a collection and is killed with SIGKILL, again and again, until a run comes to its
end; then this process checks that the collection holds exactly the rows of the files, each with its own embedding, and that no
shard was encoded twice. The files are edited (rows changed, blanked, inserted, removed; files added) and it begins anew.
STORE: an address of a collection, such as FILE.db/NAME or http://host:19530/NAME, which is deleted first; default: a folder.
ray: encode with two actors, and kill one of those too. server: store in a server of Milvus Lite, and kill that too.
"""

import json
import logging
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from itertools import repeat
from pathlib import Path

import psutil

from sbert_app.bulk.indexing import run
from sbert_app.bulk.request import Request
from sbert_app.collections import open_collection
from sbert_app.errors import UserError
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from tests.attacks.bound import bounded
from tests.attacks.small_home import SENTENCES, settings, tiny_model
from tests.bulk.conftest import Place, contents, least_cosine
from tests.bulk.logged import log_to
from tests.scale.milvus_server import Server

STARTER = multiprocessing.get_context("forkserver")
STARTER.set_forkserver_preload(["tests.attacks.bulk_kills"])
KILLS = 110
LONGEST_SECONDS, LONGEST_RAY_SECONDS = 0.6, 25.0  # of a child before it is killed
EDITS = 4  # between two rounds
KILLS_A_ROUND = 8  # then a child may come to its end
ROWS, SHARD_ROWS = 400, 25
ROOT = Path(__file__).parents[2]


class Files:
    """A folder of files that change between two rounds."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance, self.number = folder, chance, 0
        folder.mkdir()
        self.texts = {name: [self.sentence() for _ in range(ROWS)] for name in ("a.jsonl", "b.jsonl")}
        self.write()

    def sentence(self) -> str:
        self.number += 1
        return f"{self.chance.choice(SENTENCES)}, case {self.number}"

    def edit(self) -> None:
        """One change of one file, which `write` brings to disk."""
        texts = self.texts[self.chance.choice(list(self.texts))]
        place = self.chance.randrange(len(texts))
        action = self.chance.choice(("change", "blank", "insert", "shorten", "grow", "add"))
        if action == "insert":
            texts.insert(place, self.sentence())
        elif action == "shorten":
            del texts[max(1, place) :]
        elif action == "grow":
            texts += [self.sentence() for _ in range(100)]
        elif action == "add":
            self.texts[f"{self.chance.choice('0cz')}{self.number}.jsonl"] = [self.sentence() for _ in range(60)]
        else:
            texts[place] = "" if action == "blank" and place else self.sentence()

    def write(self) -> None:
        for name, texts in self.texts.items():
            lines = (json.dumps({"text": text, "n": str(i)}) for i, text in enumerate(texts))
            (self.folder / name).write_text("\n".join(lines) + "\n")

    def expected(self) -> dict[Place, tuple[str, str]]:
        rows = (((name, i + 1), (text, str(i))) for name, texts in self.texts.items() for i, text in enumerate(texts))
        return {place: cells for place, cells in rows if cells[0]}


def child(request: Request, home: Path, log: Path) -> None:
    """Index until killed, or to the end."""
    logging.disable(logging.ERROR)
    log_to(log)
    for _ in run(request, settings(home)):
        pass


def kill_child(request: Request, home: Path, log: Path, seconds: float, server: Server | None) -> bool:
    """Start a child; kill it after so many seconds, or the server of its store, which starts again. Whether it came to its end."""
    process = STARTER.Process(target=child, args=(request, home, log))
    process.start()
    process.join(seconds)
    if server:
        ended = process.exitcode == 0
        server.kill()
        process.join(60)
        if process.is_alive():
            process.kill()
            raise RuntimeError("a run waits for a store that is gone")
        server.start()
        return ended or process.exitcode == 0
    if process.is_alive():
        process.kill()
        process.join()
        return False
    if process.exitcode:
        raise RuntimeError(f"a run ended with {process.exitcode}")
    return True


def kill_ray(request: Request, home: Path, seconds: float, actor: bool) -> bool:
    """Start the command with Ray; kill it after so many seconds, or one of its actors. Returns whether it came to its end."""
    env = os.environ | {"SBERT_STUDIO_HOME": str(home), "SBERT_STUDIO_DEVICE": "cpu", "SBERT_STUDIO_PRECISION": "fp32"}
    options = ["--store", request.store, "--model", request.model, "--shard-rows", str(SHARD_ROWS), "--engine", "ray"]
    command = [sys.executable, "-m", "sbert_app", "index", *request.files, *options, "--workers", "2", "--work", str(request.work)]
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            victims = [process.pid]
            if actor:
                children = psutil.Process(process.pid).children(recursive=True)
                victims = [child.pid for child in children if "MapWorker" in " ".join(child.cmdline())][:1] or victims
            for pid in victims:
                with suppress(psutil.NoSuchProcess):
                    psutil.Process(pid).kill()
            if victims == [process.pid]:
                return False
        if process.wait():
            raise RuntimeError(f"a run ended with {process.returncode}: {process.stderr.read() if process.stderr else ''}")
    return True


def problems(store: str, files: Files, encoder: Encoder, log: Path) -> list[str]:
    """How a collection differs from its files after a round."""
    rows, vectors = contents(store)
    expected, faults = files.expected(), []
    if missing := expected.keys() - rows.keys():
        faults.append(f"{len(missing)} rows are missing, such as {min(missing)}")
    if surplus := rows.keys() - expected.keys():
        faults.append(f"{len(surplus)} rows should not be there, such as {min(surplus)}")
    if wrong := [place for place in rows.keys() & expected.keys() if rows[place] != expected[place]]:
        faults.append(f"{len(wrong)} rows have other cells, such as {min(wrong)}")
    if rows and (cosine := least_cosine(vectors, encoder.encode([sentence for sentence, _ in rows.values()]))) < 0.9999:
        faults.append(f"an embedding has a cosine of {cosine:.4f} to its own")
    twice = [key for key, count in Counter(log.read_text().split() if log.exists() else ()).items() if count > 1]
    log.unlink(missing_ok=True)
    return [*faults, *([f"{len(twice)} shards were encoded twice"] if twice else [])]


def main(folder: Path, times: int = KILLS, store: str = "", ray: bool = False, server: Server | None = None) -> bool:
    """Kill so often, and check after each round: whether nothing is wrong. server: of the store, killed in every second case."""
    chance, done, rounds, wrong = random.Random(0), 0, 0, 0
    store, log = store or str(folder / "store"), folder / "shards.log"
    with suppress(UserError):
        open_collection(store).drop()
    tiny_model(folder / "model")
    encoder = Encoder.from_folder(folder / "model", choose_hardware("cpu", "fp32"))
    files = Files(folder / "data", chance)
    request = Request((str(files.folder),), store, model=str(folder / "model"), shard_rows=SHARD_ROWS, work=folder / "work")
    for _ in bounded(repeat(None)):
        if done >= times:
            break
        ended, in_round = False, 0
        while not ended:
            last = in_round >= KILLS_A_ROUND
            seconds = 600.0 if last else chance.uniform(0, LONGEST_RAY_SECONDS if ray else LONGEST_SECONDS)
            if ray:
                ended = kill_ray(request, folder / "home", seconds, actor=chance.random() < 0.5)
            else:
                victim = server if server and not last and chance.random() < 0.5 else None
                ended = kill_child(request, folder / "home", log, seconds, victim)
            done, in_round = done + (not ended), in_round + 1
        rounds += 1
        for fault in problems(store, files, encoder, log):
            wrong += 1
            print(f"round {rounds}, {done} kills: {fault}", flush=True)
        for _ in range(EDITS):
            files.edit()
        files.write()
    print(f"{done} kills, {rounds} rounds: {wrong} faults", flush=True)
    return not wrong


if __name__ == "__main__":
    words = sys.argv[1:]
    count, store, *_ = *(word for word in words if word not in ("ray", "server")), "", ""
    with tempfile.TemporaryDirectory(prefix="bulk-kills-") as name, ExitStack() as stack:
        server = Server(Path(name) / "served.db") if "server" in words else None
        if server:
            stack.callback(server.kill)
            store = f"{server.url}/rows"
        sys.exit(not main(Path(name), int(count or KILLS), store, "ray" in words, server))
