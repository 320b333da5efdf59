"""`make bench`, or `python -m tests.benchmarks quality speed`: measure, write .bench/NAME.json, print the table of goals."""

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

MEASURED = (
    "quality",
    "speed",
    "search",
    "training",
    "map",
    "duplicates",
    "app",
)  # the others train for long: only when they are asked for


def main(names: list[str]) -> None:
    from sbert_app.models.hardware import choose_hardware, machine
    from tests.benchmarks import (
        app,
        cautions,
        cluster_map,
        cross_encoder,
        duplicates,
        quality,
        search,
        speed,
        table,
        training,
        transfer,
    )

    suites = {
        "quality": quality.report,
        "speed": speed.report,
        "search": search.report,
        "training": training.speed,
        "map": cluster_map.report,
        "duplicates": duplicates.report,
        "app": app.report,
        "stsb": training.report,
        "rerank": quality.reranked,
        "cross_encoder": cross_encoder.report,
        "cautions": cautions.report,
        "transfer": transfer.report,
    }
    out = Path(".bench")
    out.mkdir(exist_ok=True)
    for name in names or MEASURED:
        start = time.perf_counter()
        result = {"machine": f"{machine()}, {choose_hardware()}", "date": time.strftime("%Y-%m-%d"), **suites[name]()}
        result["benchmark_seconds"] = time.perf_counter() - start
        (out / f"{name}.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
        print(f"== {name}\n{json.dumps(result, indent=2)}", flush=True)
    table.show(out)


main(sys.argv[1:])
