"""JSON messages to the map's script (assets/map_bridge.js); rows and positions are 32-bit numbers in base64."""

import base64
import json
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus_map.result import CorpusMap
from sbert_app.mapping.projection import Points

NO_ROW = -1  # alone, it fades all rows; the page takes an empty list for "all bright"


def message(**parts: Any) -> str:
    """Encode a message, with a random number so that the page also notices a repeated one."""
    return json.dumps(parts | {"number": secrets.randbits(32)})


def highlight(rows: NDArray[np.integer] | None, ringed: Points | None = None) -> dict[str, Any]:
    """Keep these rows bright and fade the others (None: all bright); draw rings around the `ringed` positions, (k, 2)."""
    bright = np.array([] if rows is None else [NO_ROW], np.int32) if rows is None or not len(rows) else rows
    return {"highlight": _base64(bright, np.int32), "rings": [] if ringed is None else ringed.ravel().tolist()}


def star(point: NDArray[np.floating] | None) -> dict[str, Any]:
    """The query's position, (2,), or None for no star."""
    return {"query": [] if point is None else point.tolist()}


def move(corpus_map: CorpusMap, share: float) -> dict[str, Any]:
    """The drawn rows with their positions on both maps, and the clusters' centres on the other model's.

    The page draws them at `share` of the way, once it shows this map.
    """
    if corpus_map.comparison is None:
        return {}
    first, second = corpus_map.projection.points[corpus_map.projection.drawn], corpus_map.comparison.drift.points
    return {
        "map": corpus_map.projection.id, "rows": _base64(corpus_map.projection.drawn, np.int32),
        "from": _base64(first, np.float32), "to": _base64(second, np.float32), "share": share,
        "others": corpus_map.other_centres(),
    }  # fmt: skip


def _base64(values: NDArray[Any], kind: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
