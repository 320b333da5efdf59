"""A random sample of ids, without reading all of them."""

from collections.abc import Callable, Sequence

import numpy as np

from sbert_app.collections.collection import FILE_BITS, ROW, Rows

FILES, ROUNDS, IDS_A_CALL = 64, 50, 4_096


def sample(
    count_where: Callable[[str], int], known: Callable[[Sequence[int]], list[int]], files: int, count: int, seed: int
) -> Rows:
    """At most `count` ids in ascending order, each row of the files it looks at as likely as any other.

    It looks at all files, of more than 64 at 64 drawn at random: where files differ much, a sample of a larger collection is then a
    coarse one. Ids are drawn between the first and the last of each file and kept where there is such a row. Gaps in the numbers
    cost rounds; after 50, what is there is returned.

    count_where: the number of rows for which an expression holds; known: those of some ids that exist.
    """
    draw = np.random.default_rng(seed)
    chosen = np.sort(draw.choice(files, min(files, FILES), replace=False)) if files else np.empty(0, np.int64)
    lasts = np.array([_last(int(file), count_where) for file in chosen], dtype=np.int64)
    ends = np.cumsum(lasts)
    total = int(ends[-1]) if len(ends) else 0
    rows, tried = set[int](), set[int]()
    for _ in range(ROUNDS):
        places = draw.integers(0, total, min(2 * (count - len(rows)) + 16, IDS_A_CALL)) if total else np.empty(0, np.int64)
        files_of = np.searchsorted(ends, places, side="right")
        ids = (chosen[files_of] << FILE_BITS) + places - (ends - lasts)[files_of] + 1
        new = [row for row in dict.fromkeys(ids.tolist()) if row not in tried]
        tried.update(new)
        exist = set(known(new)) if new else set()
        rows.update([row for row in new if row in exist][: count - len(rows)])
        if len(rows) >= count or len(tried) >= total:
            break
    return np.array(sorted(rows), dtype=np.int64)


def _last(file: int, count_where: Callable[[str], int]) -> int:
    """A row number of a file behind which there are no rows: their count, or more where numbers have gaps."""
    first, end, last = file << FILE_BITS, (file + 1) << FILE_BITS, 0
    while behind := count_where(f"{ROW} > {first + last} and {ROW} < {end}"):
        last += behind
    return last
