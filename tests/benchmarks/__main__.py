"""`make bench`, or `python -m tests.benchmarks quality speed`: measure, write .bench/NAME.json, print the table of goals."""

import json
import os
import sys
import time
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

os.environ.setdefault("HF_HUB_OFFLINE", "1")

SUITES = {  # each a function of a module beside this one
    "quality": "quality.report",
    "speed": "speed.report",
    "engines": "engines.report",
    "commands": "commands.report",
    "search": "speed.search",
    "training": "training.speed",
    "map": "cluster_map.report",
    "duplicates": "duplicates.report",
    "app": "app.report",
    "serving": "serving.report",
}
LONG = {  # these train, or work, for long: only when they are asked for
    "stsb": "training.report",
    "rerank": "quality.reranked",
    "ranking": "ranking.report",
    "cross_encoder": "cross_encoder.report",
    "transfer": "quality.transfer",
    "collections": "collections.report",
    "stores": "collections.stores",
    "memory": "app.memory",
}
PACKAGES = ("torch", "transformers", "openvino", "onnxruntime", "sentence-transformers")


def versions() -> dict[str, str]:
    """Of what the figures depend on, as far as it is installed."""
    installed = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def main(names: list[str]) -> None:
    from sbert_app.models.engine.hardware import choose_hardware, machine
    from tests.benchmarks import table

    out = Path(".bench")
    out.mkdir(exist_ok=True)
    for name in names or SUITES:
        module, function = (SUITES | LONG)[name].split(".")
        suite, start = getattr(import_module(f"tests.benchmarks.{module}"), function), time.perf_counter()
        where = {"machine": f"{machine()}, {choose_hardware()}", "date": time.strftime("%Y-%m-%d"), "versions": versions()}
        result = {**where, "load_before": psutil.getloadavg()[0], **suite()}
        result["benchmark_seconds"] = time.perf_counter() - start
        (out / f"{name}.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
        print(f"== {name}\n{json.dumps(result, indent=2)}", flush=True)
    table.show(out)


main([name for name in sys.argv[1:] if not name.startswith("--")])
