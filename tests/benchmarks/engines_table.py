"""What the engines suite measured, as Markdown that can be posted: every side by length, beside other programs, and where."""

from collections.abc import Sequence
from typing import Any

Results = dict[str, Any]

RATES = {"sentences_per_second": ",.0f", "times": ".2f"}


def show(results: Results) -> None:
    """Print it; it ends with the machine, the date and the versions."""
    _encoding(results["encoding"])
    _contention(results["contention"])
    _models(results)
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    load = f"load average before it began {results['load_before']:.1f}"
    print(f"\n{results['machine']} · {results['date']} · {versions} · {load}")


def _encoding(results: Results) -> None:
    lengths = {name: value for name, value in results.items() if name.endswith("tokens")}
    sides = list(next(iter(lengths.values()))["sentences_per_second"])
    count = next(iter(lengths.values()))["sentences"]
    _row(
        [
            f"sentences/s over {count:,}, tokenising included",
            *(title for name in lengths for title in (name, "times")),
            "of matrix product",
        ],
        True,
    )
    for side in sides:
        cells = [f"{part[key][side]:{form}}" for part in lengths.values() for key, form in RATES.items()]
        shares = [part["share_of_matrix_product"].get(side) for part in lengths.values()]
        _row([_named(side, results), *cells, ", ".join(f"{100 * share:.0f} %" for share in shares if share)])
    if not any(side.startswith("ONNX") for side in sides):
        _row(["ONNX Runtime, fp32: not installed", *[""] * (2 * len(lengths) + 1)])
    rates = ", ".join(f"{name}: {rate:,.0f}" for name, rate in results["gemm_gflops"].items())
    print(f"\n“times”: the first row's rate divided by this one's. Matrix product in torch, 10⁹ operations/s: {rates}.")


def _named(side: str, results: Results) -> str:
    return f"{side} ({results['best_setting']})" if side.startswith("sentence-transformers, best") else side


def _contention(results: Results) -> None:
    _row(["other programs at full load", "sentences/s", "share of undisturbed", "one query, p50 and p99 in ms"], True)
    for side, cases in results.items():
        for case, part in cases.items():
            p50, p99 = part["query_milliseconds_p50_p99"]
            share = f"{100 * part['share_of_undisturbed']:.0f} %"
            _row([f"{side}, {case}", f"{part['sentences_per_second']:,.0f}", share, f"{p50:.1f}, {p99:.1f}"])


def _models(results: Results) -> None:
    sets = results["quality"]["spearman_x100"]
    _row(["Spearman ×100", *sets, "smallest cosine"], True)
    for side, cosine in results["quality"]["smallest_cosine"].items():
        _row([side, *(f"{scores[side]:.2f}" for scores in sets.values()), f"{cosine:.6f}"])
    pairs = ", ".join(f"{name}: {rate:,.0f}" for name, rate in results["cross_encoder"]["pairs_per_second"].items())
    print(f"\nSmallest cosine: to {results['quality']['to']}. Cross-encoder, pairs/s: {pairs}.")


def _row(cells: Sequence[str], head: bool = False) -> None:
    line = f"| {' | '.join(cells)} |"
    print(f"\n{line}\n| --- |{' ---: |' * (len(cells) - 1)}" if head else line)
