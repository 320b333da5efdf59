"""`make bench`, or `python -m tests.benchmarks quality speed`: measure, write .bench/NAME.json, print the table of goals."""

import json
import os
import sys
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

os.environ.setdefault("HF_HUB_OFFLINE", "1")

MEASURED = (
    "quality",
    "speed",
    "engines",
    "commands",
    "search",
    "training",
    "map",
    "duplicates",
    "app",
    "serving",
)  # the others train for long: only when they are asked for


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
    from tests.benchmarks import (
        app,
        cluster_map,
        collections,
        commands,
        cross_encoder,
        duplicates,
        engines,
        memory,
        quality,
        ranking,
        search,
        serving,
        speed,
        stores,
        table,
        training,
        transfer,
    )

    suites = {
        "quality": quality.report,
        "speed": speed.report,
        "engines": engines.report,
        "commands": commands.report,
        "search": search.report,
        "training": training.speed,
        "map": cluster_map.report,
        "duplicates": duplicates.report,
        "app": app.report,
        "serving": serving.report,
        "stsb": training.report,
        "rerank": quality.reranked,
        "ranking": ranking.report,
        "cross_encoder": cross_encoder.report,
        "transfer": transfer.report,
        "collections": collections.report,
        "stores": stores.report,
        "memory": memory.report,
    }
    out = Path(".bench")
    out.mkdir(exist_ok=True)
    for name in names or MEASURED:
        start = time.perf_counter()
        where = {"machine": f"{machine()}, {choose_hardware()}", "date": time.strftime("%Y-%m-%d"), "versions": versions()}
        result = {**where, "load_before": psutil.getloadavg()[0], **suites[name]()}
        result["benchmark_seconds"] = time.perf_counter() - start
        (out / f"{name}.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
        print(f"== {name}\n{json.dumps(result, indent=2)}", flush=True)
    table.show(out)


main([name for name in sys.argv[1:] if not name.startswith("--")])
