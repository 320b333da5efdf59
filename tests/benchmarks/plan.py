"""What ten million to a billion rows would take: `python -m tests.benchmarks.plan` prints the tables of docs/scale.md.

Computed from few measured figures, with what is assumed in between; nothing here is measured beyond a million rows.
"""

from collections.abc import Iterator
from itertools import product

from sbert_app.bulk.preparing import INDEX_BYTES
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN
from tests.benchmarks.timing import markdown

DIM = 384
ROWS = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
MACHINES = (1, 8, 64)
TEXT_BYTES = 140  # of a row with its metadata, as in the benchmark of a million rows
EMBEDDING_BYTES = 2 * DIM  # float16, on disk
READ_ROWS = 230_000  # a second: what one driver reads and cuts into shards (measured, the lower of two)
MEMORY_ROWS = 25_000_000  # that one machine searches: assumed, so that a query of `scann` reads for less than 0.3 s
NETWORK_MS = 5.0  # between app and store, and to merge the answers of several machines: assumed


RATES = {"2 cores with AMX-BF16 (measured)": 1_720, "V100 (published by sentence-transformers)": 14_200}  # sentences a second
SHARE = 0.91  # of the rate of each of several machines that is left
MILLION_MS = {SCANN: 9.6, IVF: 53.3, EXACT: 78.1}  # p50 of one query over a million rows on 2 cores, measured


def hours_table() -> Iterator[str]:
    table = []
    for (name, rate), count in product(RATES.items(), MACHINES):
        together = min(rate * count * (SHARE if count > 1 else 1), READ_ROWS)
        table.append([f"{count} × {name}", *(_hours(rows / together / 3600) for rows in ROWS)])
    return markdown(["encoding", *map(_rows, ROWS)], table)


def bytes_table() -> Iterator[str]:
    of_a_row = {"on disk: texts": TEXT_BYTES, "float16 embeddings": EMBEDDING_BYTES}
    of_a_row |= {f"index `{kind}`": INDEX_BYTES[kind](DIM) for kind in (SCANN, IVF, HNSW, EXACT)}
    return markdown(["rows", *of_a_row], ([_rows(rows), *(_bytes(rows * size) for size in of_a_row.values())] for rows in ROWS))


def query_table() -> Iterator[str]:
    table = []
    for rows in ROWS:
        machines = -(-rows // MEMORY_ROWS)
        network = NETWORK_MS if machines > 1 else 0.0
        times = (_milliseconds(per_million * rows / machines / 1e6 + network) for per_million in MILLION_MS.values())
        table.append([_rows(rows), machines, *times])
    return markdown(["rows", "machines that search", *(f"`{kind}`" for kind in MILLION_MS)], table)


def tables() -> list[str]:
    return ["\n".join(table) for table in (hours_table(), bytes_table(), query_table())]


def _rows(rows: int) -> str:
    return f"{rows // 1_000_000:,} million" if rows < 10**9 else f"{rows // 10**9:,} billion"


def _hours(hours: float) -> str:
    return f"{max(1, round(hours * 60))} min" if hours < 1 else f"{hours:,.1f} h" if hours < 48 else f"{hours / 24:,.0f} days"


def _bytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size < 1e12 else f"{size / 1e12:,.2f} TB"


def _milliseconds(value: float) -> str:
    return f"{value:,.0f} ms" if value < 1000 else f"{value / 1000:,.1f} s"


if __name__ == "__main__":
    print("\n\n".join(tables()))
