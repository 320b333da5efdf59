"""The similarity of two sentences under a poly-encoder (Humeau et al. 2020, section 4.4), with gradients or on arrays."""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from sbert_app.evaluation.weighted import Array
from sbert_app.vectors import Vectors

ROWS, COLUMNS = 16, 1_024  # compared at a time: about 50 MB


class Attended:
    """One sentence's embedding attends over the other's code vectors; the cosine of what it reads and itself, mean of both ways.

    The vectors of a sentence come as one row: first its embedding, then its m code vectors, (1 + m) * width numbers.
    """

    def __init__(self, width: int) -> None:
        self.width = width

    def pairs(self, u: Tensor, v: Tensor) -> Tensor:
        """Compare row by row. (n, W), (n, W) -> (n,), -1..1, higher is closer."""
        return (self._one_way(u, v, "n") + self._one_way(v, u, "n")) / 2

    def all(self, u: Tensor, v: Tensor) -> Tensor:
        """Compare each row of u with each of v. (n, W), (k, W) -> (n, k)."""
        return (self._one_way(u, v, "nk") + self._one_way(v, u, "nk").T) / 2

    def _one_way(self, u: Tensor, v: Tensor, out: str) -> Tensor:
        """The embeddings of v read the code vectors of u. out: "n", row by row, or "nk", each with each."""
        codes = u.unflatten(1, (-1, self.width))[:, 1:]  # (n, m, d)
        embeddings = v[:, : self.width]  # (n or k, d)
        weights = torch.einsum(f"nmd,{out[-1]}d->{out}m", codes, embeddings).softmax(-1)
        attended = torch.einsum(f"{out}m,nmd->{out}d", weights, codes)
        return F.cosine_similarity(attended, embeddings, dim=-1)


class AttendedArrays:
    """`Attended` on arrays: computed in float64, some rows at a time."""

    def __init__(self, width: int) -> None:
        self._attended = Attended(width)

    def pairs(self, u: Vectors, v: Vectors) -> Array:
        """Compare row by row. (n, W), (n, W) -> (n,)."""
        starts = range(0, len(u), COLUMNS)
        parts = [self._attended.pairs(_double(u[i : i + COLUMNS]), _double(v[i : i + COLUMNS])).numpy() for i in starts]
        return np.concatenate([np.empty(0), *parts])

    def all(self, u: Vectors, v: Vectors) -> Array:
        """Compare each row of u with each of v. (n, W), (k, W) -> (n, k)."""
        scores = np.empty((len(u), len(v)))
        for i in range(0, len(u), ROWS):
            for k in range(0, len(v), COLUMNS):
                part = self._attended.all(_double(u[i : i + ROWS]), _double(v[k : k + COLUMNS]))
                scores[i : i + ROWS, k : k + COLUMNS] = part.numpy()
        return scores


def _double(vectors: Vectors) -> Tensor:
    return torch.from_numpy(np.asarray(vectors, dtype=np.float64))
