"""Is the preset "best for my data" better than "quick", and never worse? `python -m tests.benchmarks.presets`; takes hours.

Sets × 200, 1,000 or all examples × three seeds, which draw the examples and seed the training. A cell: the main metric × 100 on the
same held-out examples as it is and after both, and best minus quick with its paired 95 % interval. Where topics are held out,
the dev part is of topics of its own too. Written to .bench/presets.jsonl as it goes; a stopped run goes on.
"""

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import torch

from sbert_app.evaluation.verdict import judge
from sbert_app.labelled.columns import guess_mapping
from sbert_app.labelled.example_set import Examples, Groups, column_groups, sentence_groups
from sbert_app.labelled.examples import read_examples
from sbert_app.labelled.splits import Column, Split, split
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runs.execution import Execution
from sbert_app.runs.plan import BEST, QUICK, Plan, preset_for
from sbert_app.runs.records import RunResult
from sbert_app.runs.run import Run
from sbert_app.settings import Limits
from sbert_app.tables import read_table
from tests.benchmarks import data
from tests.benchmarks.arguments import arguments
from tests.cuda.place import model_folder

REPORT = Path(".bench") / "presets.jsonl"
SIZES, SEEDS = (200, 1_000, 10**6), (0, 1, 2)
TEST = 1_000  # held-out examples at most
HARDWARE = choose_hardware()
Set = tuple[str, Examples, Examples, Sequence[str]]  # name, examples to train on, held-out ones; topics by row, or none


def sets() -> Iterator[Set]:
    yield "STSb", data.scored("stsb/train"), data.scored("stsb/dev"), ()
    yield "SICK-R", data.scored("sick/train", 1), data.scored("sick/test", 1), ()
    rows = data.rows("quora/dev")
    quora = data.examples("labelled", rows, [float(row["label"]) for row in rows], ("0", "1"), 1)
    yield "Quora", quora.take(np.arange(8_000)), quora.take(np.arange(8_000, 10_000)), ()
    topics = [row["topic"] for row in data.rows("argument/ukp_aspect")]
    yield "UKP ASPECT", *_thirds(arguments()[0], column_groups(topics)), topics
    for path in sorted(Path("assets/labelled").glob("*.csv")):
        table = read_table(path, Limits())
        examples = read_examples(table, guess_mapping(table.frame), Limits()).examples
        yield path.stem, *_thirds(examples, sentence_groups(examples)), ()


def _thirds(examples: Examples, groups: Groups) -> tuple[Examples, Examples]:
    """Two thirds of the groups to train on, the others held out."""
    names = np.random.default_rng(0).permutation(np.unique(groups))
    out = np.isin(groups, names[: len(names) // 3])
    return examples.take(np.flatnonzero(~out)), examples.take(np.flatnonzero(out))


def drawn(examples: Examples, most: int, seed: int = 0) -> Examples:
    return examples.take(np.sort(np.random.default_rng(seed).permutation(len(examples))[:most]))


def trained(plan: Plan, parts: Split) -> tuple[RunResult, float]:
    """The result of a run, and its processor seconds."""
    with tempfile.TemporaryDirectory() as home:
        run, start = Run.create(Path(home), "cell", "", plan, parts), time.process_time()
        fp32 = replace(HARDWARE, dtype=torch.float32)
        for _ in Execution(run, lambda base: Encoder.from_folder(model_folder(), fp32), HARDWARE).work():
            pass
        result = run.result()
    assert result is not None
    return result, time.process_time() - start


def cell(pool: Examples, test: Examples, topics: Sequence[str], seed: int) -> dict[str, object]:
    column = Column("topic", [topics[row - 1] for row in pool.rows]) if topics else None
    parts = split(pool, held_out=drawn(test, TEST), column=column)
    results, found = dict[str, RunResult](), dict[str, object]()
    for which in (QUICK, BEST):
        plan = preset_for(parts.train, which, DEFAULT_ENCODER)
        plan = replace(plan, learning_curve=False, options=replace(plan.options, seed=seed))
        results[which], seconds = trained(plan, parts)
        change = results[which].verdict.changes[0]
        found |= {"before": 100 * change.before.value, which: 100 * change.after.value, f"{which}, processor seconds": seconds}
    sides = [np.array(results[which].after) for which in (QUICK, BEST)]
    change = judge(pool.kind, *sides, parts.held_out.gold).changes[0]
    difference = [100 * value for value in (change.difference.value, change.difference.low, change.difference.high)]
    return found | {"best minus quick": difference, "tried": results[BEST].tried}


def main() -> None:
    REPORT.parent.mkdir(exist_ok=True)
    lines = REPORT.read_text().splitlines() if REPORT.exists() else []
    done = {(each["set"], each["size"], each["seed"]) for each in map(json.loads, lines)}
    for size, seed, (name, pool, test, topics) in product(SIZES, SEEDS, list(sets())):
        about = name, min(size, len(pool)), seed
        if about not in done:
            found = dict(zip(("set", "size", "seed"), about, strict=True)) | cell(drawn(pool, size, seed), test, topics, seed)
            with REPORT.open("a") as file:
                file.write(json.dumps(found) + "\n")
            print(found, flush=True)
            done.add(about)


if __name__ == "__main__":
    main()
