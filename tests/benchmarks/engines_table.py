"""What the engines suite measured, as Markdown that can be posted: every side by length, beside other programs, and where."""

from typing import Any

from tests.benchmarks.timing import show as show_table

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


def _models(results: Results) -> None:
    sets, crossed = results["quality"]["spearman_x100"], results["cross_encoder"]
    rows = [
        [side, *(f"{scores[side]:.2f}" for scores in sets.values()), f"{cosine:.6f}"]
        for side, cosine in results["quality"]["smallest_cosine"].items()
    ]
    show_table(["Spearman ×100", *sets, "smallest cosine"], rows)
    pairs = ", ".join(f"{_named(name, crossed)}: {rate:,.0f}" for name, rate in crossed["pairs_per_second"].items())
    print(f"\nSmallest cosine: to {results['quality']['to']}. Cross-encoder, pairs/s: {pairs}.")
