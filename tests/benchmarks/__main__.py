"""`make bench`, or `python -m tests.benchmarks quality speed`: print the tables, write them to .bench/NAME.json."""

import json
import os
import platform
import sys
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

MEASURED = ("quality", "speed", "app", "training")  # cross_encoder makes a model: only when it is asked for


def main(names: list[str]) -> None:
    from sbert_app.models.hardware import choose_hardware
    from tests.benchmarks import app, cross_encoder, quality, search, speed, training

    modules = (app, cross_encoder, quality, search, speed, training)
    suites = {module.__name__.rsplit(".", 1)[-1]: module.report for module in modules}
    out = Path(".bench")
    out.mkdir(exist_ok=True)
    for name in names or MEASURED:
        start = time.perf_counter()
        result = {
            "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {choose_hardware()}",
            "date": time.strftime("%Y-%m-%d"),
            **suites[name](),
        }
        result["benchmark_seconds"] = time.perf_counter() - start
        (out / f"{name}.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
        print(f"== {name}\n{json.dumps(result, indent=2)}", flush=True)


main(sys.argv[1:])
