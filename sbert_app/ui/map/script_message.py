"""What Python says to the map's script (assets/map_bridge.js), as JSON; rows and places travel as base64 of 32-bit numbers."""

import base64
import json
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.mapping.projection import Points


def said(**parts: Any) -> str:
    """One message; a fresh number in it makes the page see every one, also the same twice."""
    return json.dumps(parts | {"number": secrets.randbits(32)})


def lit(rows: NDArray[np.integer] | None, picked: Points | None = None) -> dict[str, Any]:
    """Keep these rows bright and fade the others, None: all are bright; rings around `picked` places, (k, 2)."""
    chosen = np.array([], np.int32) if rows is None else rows
    return {"lit": _base64(chosen, np.int32), "picked": [] if picked is None else picked.ravel().tolist()}


def star(point: NDArray[np.floating] | None) -> dict[str, Any]:
    """The place of the query, (2,), or none."""
    return {"query": [] if point is None else point.tolist()}


def move(rows: NDArray[np.integer], first: Points, second: Points, share: float) -> dict[str, Any]:
    """Rows (m,) and both their places, (m, 2); they are drawn at `share` of the way."""
    return {
        "rows": _base64(rows, np.int32), "from": _base64(first, np.float32), "to": _base64(second, np.float32), "share": share
    }  # fmt: skip


def _base64(values: NDArray[Any], kind: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
