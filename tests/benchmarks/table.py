"""The goals of this project beside what was measured, from the json files of the suites: `make bench` ends with it."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tests.benchmarks import commands
from tests.benchmarks.timing import show as show_table

Results = dict[str, Any]

Measured = tuple[str, bool | None]  # a value, and whether it reaches the goal; None: the goal does not apply to this machine

# (what, goal, suite, how to read its value)
Row = tuple[str, str, str, Callable[[Results], Measured]]

RATES = {"sentences_per_second": ",.0f", "times": ".2f"}


def at_least(path: str, goal: float, unit: str = "") -> Callable[[Results], Measured]:
    return lambda results: (f"{_get(results, path):.4g}{unit}", _get(results, path) >= goal)


def at_most(path: str, goal: float, unit: str = "") -> Callable[[Results], Measured]:
    return lambda results: (f"{_get(results, path):.3g}{unit}", _get(results, path) <= goal)


def _get(results: Results, path: str) -> float:
    """The value at a path of keys; of several values the median."""
    value: Any = results
    for key in path.split("|"):
        value = value[key]
    return float(np.median(value))


def _step(results: Results) -> Measured:
    ratios = [run["all_pairs_step_ratio_to_faiss_knn"] for run in results["closest_pair_of_10000"]]
    return ", ".join(f"{ratio:.2f}" for ratio in ratios), True


def lost(results: Results, fp32: str, bf16: str) -> Measured:
    losses = {name: scores[fp32] - scores[bf16] for name, scores in results["spearman_x100"].items()}
    worst = max(losses, key=lambda name: losses[name])
    return f"{losses[worst]:+.3f} ({worst})", losses[worst] <= 0.05


def _pairs(results: Results) -> Measured:
    runs = results["closest_pair_of_10000"]
    seconds, same = [run["seconds"] for run in runs], sum(run["same_pair"] for run in runs)
    shown = ", ".join(f"{value:.1f}" for value in seconds)
    return f"{shown} s; same pair {same} of {len(runs)}", median(seconds) <= 10 and same == len(runs)


def _errors(results: Results) -> Measured:
    errors = [run["error"] for run in results["extrapolation"]]
    return ", ".join(f"{100 * error:+.1f} %" for error in errors), all(abs(error) <= 0.15 for error in errors)


def _query(results: Results) -> Measured:
    large = results["large_corpus"]
    p50, p99 = large["milliseconds_p50_p99"]["dense together"]
    recall = large["recall_at_10_unseen_queries"]
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, recall {recall:.3f}", p50 <= 10 and p99 <= 30 and recall >= 0.99


def _disturbed(results: Results) -> Measured:
    app = next(iter(results["contention"]))
    shares = {name: sides["beside 2"]["share_of_undisturbed"] for name, sides in results["contention"].items()}
    return ", ".join(f"{name}: {100 * value:.0f} %" for name, value in shares.items()), shares[app] >= 0.4


def _rounded(results: Results) -> Measured:
    app, fp32 = "this app on OpenVINO, bf16", "this app on OpenVINO, fp32"
    if app not in results["contention"]:
        return "no bf16 on this machine", None
    return lost(results["quality"], fp32, app)


def _crossed(results: Results) -> Measured:
    times = results["cross_encoder"]["times"]
    ratio = times[next(iter(times)).replace("OpenVINO", "torch")]
    return f"{ratio:.2f}", ratio >= 1.4


def _commands(count: int) -> Callable[[Results], Measured]:
    """The slowest of a converted home's commands, in the precision of this machine."""

    def read(results: Results) -> Measured:
        precision = "bf16" if "bf16" in results else "fp32"
        row = results[precision][str(count)]
        ratio = min(row[name]["ratio"] for name in commands.OURS if name.startswith("converted"))
        return f"{ratio:.2f} ({precision})", ratio >= (1.0 if count < 2_000 else 2.5 if precision == "bf16" else 1.25)

    return read


DEFAULTS, BEST, PLAIN = (
    f"times|{side}"
    for side in ("sentence-transformers, defaults", "sentence-transformers, best of a sweep", "OpenVINO driven plainly")
)

ROWS: tuple[Row, ...] = (
    ("12 tokens, times sentence-transformers' defaults", "≥ 8", "engines", at_least(f"encoding|12 tokens|{DEFAULTS}", 8)),
    ("25 tokens, times sentence-transformers' defaults", "≥ 6", "engines", at_least(f"encoding|25 tokens|{DEFAULTS}", 6)),
    ("12 tokens, times its best setting", "≥ 1.5", "engines", at_least(f"encoding|12 tokens|{BEST}", 1.5)),
    ("12 tokens, times OpenVINO driven plainly", "≥ 1.3", "engines", at_least(f"encoding|12 tokens|{PLAIN}", 1.3)),
    ("25 tokens, times OpenVINO driven plainly", "≥ 1.3", "engines", at_least(f"encoding|25 tokens|{PLAIN}", 1.3)),
    ("whole command, 500 sentences, times sentence-transformers' script", "≥ 1.0", "commands", _commands(500)),
    ("the same, 2,000 sentences", "≥ 1.25, bf16 ≥ 2.5", "commands", _commands(2_000)),
    ("share of its rate beside two other programs", "≥ 40 %", "engines", _disturbed),
    ("Spearman ×100 that bf16 on OpenVINO loses, worst STS set", "≤ 0.05", "engines", _rounded),
    ("cross-encoder on OpenVINO, times torch", "≥ 1.4", "engines", _crossed),
    ("cross-encoder, times sentence-transformers at its defaults", "≥ 2", "engines", at_least(f"cross_encoder|{DEFAULTS}", 2)),
    ("cross-encoder, times its best setting", "–", "engines", at_least(f"cross_encoder|{BEST}", 0)),
    ("Spearman ×100 lost to speed, worst STS set", "≤ 0.05", "quality", lambda results: lost(results, "fp32", "bf16")),
    ("cosine to fp32 embeddings, smallest", "≥ 0.999", "quality", at_least("interop|bf16_min_cosine", 0.999)),
    ("most similar pair of 10,000 sentences, three sets, the median", "≤ 10 s", "speed", _pairs),
    ("all-pairs step, times FAISS's plain k-NN call", "–", "speed", _step),
    ("extrapolated against measured, 19,900 pairs, three times", "within 15 %", "speed", _errors),
    ("one query among 300,000 sentences", "p50 ≤ 10 ms, p99 ≤ 30 ms, recall ≥ 0.99", "search", _query),
    ("the search, times FAISS's plain exact call", "–", "search", at_least("large_corpus|times_plain_exact", 0)),
    ("siamese training, times sentence-transformers' trainer", "≥ 2", "training", at_least("ratio", 2)),
    ("UMAP of 10,000 embeddings, warm", "≤ 6 s", "map", at_most("umap_of_10000|seconds|this app", 6, " s")),
    ("the same, times umap-learn's plain call", "≥ 2", "map", at_least("umap_of_10000|ratio", 2)),
    ("the same in a fresh process, imports included", "≤ 20 s", "map", at_most("first_use|map_seconds", 20, " s")),
    ("most similar pairs of 10,000 embeddings", "≤ 1 s", "duplicates", at_most("speed|mining_seconds|median", 1, " s")),
    ("another threshold, worst", "≤ 200 ms", "duplicates", at_most("speed|regrouping_milliseconds|worst", 200, " ms")),
    ("app start to a usable page", "≤ 6 s", "app", at_most("start_to_usable_page_seconds", 6, " s")),
    ("Similarity tab on the server", "≤ 50 ms", "app", at_most("similarity_handler_ms|median_of_50", 50, " ms")),
    ("/v1/embeddings, 16 clients, 32 sentences each, share of the encoder's rate", "≥ 0.7", "serving",
     at_least("share_of_in_process|32_a_request", 0.7)),
    ("the same, 1 sentence each", "≥ 0.7", "serving", at_least("share_of_in_process|1_a_request", 0.7)),
    ("STSb test, default encoder", "82.0", "quality", at_least("spearman_x100|stsb/test|bf16", 82)),
    ("STSb test, bundled cross-encoder", "≥ 86", "quality", at_least("cross_encoder_stsb_test_x100", 86)),
    ("STSb test, fine-tuned, regression", "≥ 85.5", "stsb", at_least("stsb|regression|mean", 85.5)),
    ("STSb test, fine-tuned, best objective", "≥ 87", "stsb", at_least("stsb|cosent|mean", 87)),
)  # fmt: skip


def show(folder: Path) -> None:
    """Print the table and write it as table.json. A suite that was not run leaves its rows open."""
    rows = [_row(folder, *row) for row in ROWS]
    (folder / "table.json").write_text(json.dumps(rows, indent=2, ensure_ascii=False), encoding="utf-8")
    show_table(("what", "goal", "measured", "reached", "when"), map(dict.values, rows))
    for suite, show_suite in {"engines": engines, "commands": commands.show}.items():
        if (path := folder / f"{suite}.json").exists():
            show_suite(json.loads(path.read_text(encoding="utf-8")))


def _row(folder: Path, what: str, goal: str, suite: str, read: Callable[[Results], Measured]) -> dict[str, str]:
    path = folder / f"{suite}.json"
    if not path.exists():
        return {"what": what, "goal": goal, "measured": f"run `python -m tests.benchmarks {suite}`", "reached": "", "date": ""}
    results = json.loads(path.read_text(encoding="utf-8"))
    measured, reached = read(results)
    verdict = "" if goal == "–" or reached is None else "yes" if reached else "no"
    return {"what": what, "goal": goal, "measured": measured, "reached": verdict, "date": results["date"]}


def engines(results: Results) -> None:
    """Print what the engines suite measured, to be posted: by length, beside other programs, at last machine, date, versions."""
    _encoding(results["encoding"])
    _contention(results["contention"])
    _quality(results)
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    load = f"load average before it began {results['load_before']:.1f}"
    print(f"\n{results['machine']} · {results['date']} · {versions} · {load}")


def _encoding(results: Results) -> None:
    lengths = {name: value for name, value in results.items() if name.endswith("tokens")}
    first = next(iter(lengths.values()))
    rows = []
    for side in first["sentences_per_second"]:
        cells = [f"{part[key][side]:{form}}" for part in lengths.values() for key, form in RATES.items()]
        shares = [part["share_of_matrix_product"].get(side) for part in lengths.values()]
        rows.append([_named(side, results), *cells, ", ".join(f"{100 * share:.0f} %" for share in shares if share)])
    if not any(side.startswith("ONNX") for side in first["sentences_per_second"]):
        rows.append(["ONNX Runtime, fp32: not installed", *[""] * (2 * len(lengths) + 1)])
    columns = [title for name in lengths for title in (name, "times")]
    show_table([f"sentences/s over {first['sentences']:,}, tokenising included", *columns, "of matrix product"], rows)
    rates = ", ".join(f"{name}: {rate:,.0f}" for name, rate in results["gemm_gflops"].items())
    print(f"\n“times”: the first row's rate divided by this one's. Matrix product in torch, 10⁹ operations/s: {rates}.")


def _named(side: str, results: Results) -> str:
    return f"{side} ({results['best_setting']})" if side.startswith("sentence-transformers, best") else side


def _contention(results: Results) -> None:
    rows = []
    for side, cases in results.items():
        for case, part in cases.items():
            p50, p99 = part["query_milliseconds_p50_p99"]
            share = f"{100 * part['share_of_undisturbed']:.0f} %"
            rows.append([f"{side}, {case}", f"{part['sentences_per_second']:,.0f}", share, f"{p50:.1f}, {p99:.1f}"])
    show_table(["other programs at full load", "sentences/s", "share of undisturbed", "one query, p50 and p99 in ms"], rows)


def _quality(results: Results) -> None:
    sets, crossed = results["quality"]["spearman_x100"], results["cross_encoder"]
    rows = [
        [side, *(f"{scores[side]:.2f}" for scores in sets.values()), f"{cosine:.6f}"]
        for side, cosine in results["quality"]["smallest_cosine"].items()
    ]
    show_table(["Spearman ×100", *sets, "smallest cosine"], rows)
    pairs = ", ".join(f"{_named(name, crossed)}: {rate:,.0f}" for name, rate in crossed["pairs_per_second"].items())
    print(f"\nSmallest cosine: to {results['quality']['to']}. Cross-encoder, pairs/s: {pairs}.")
