"""Training objectives: the paper's three (section 3), five later ones, and a softmax head. u, v, a, p, n: embeddings, (B, dim)."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sbert_app.models.files.layout import damaged, first_line, read_json, write_json
from sbert_app.models.poly_encoder import Attended
from sbert_app.training.options import CONCATENATIONS, PAPER_CONCATENATION, SCALE, ObjectiveOptions
from sbert_app.vectors import Rows, Vectors

HEAD = "softmax_head"  # its folder in that of a model
DISTANCE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {  # lower is closer. (B, dim), (B, dim) -> (B,)
    "euclidean": F.pairwise_distance,
    "manhattan": lambda x, y: (x - y).abs().sum(1),
    "cosine": lambda x, y: 1 - F.cosine_similarity(x, y),
}


class TensorCosine:
    """The cosine, with gradients."""

    def pairs(self, u: Tensor, v: Tensor) -> Tensor:
        """Compare row by row. (B, dim), (B, dim) -> (B,)."""
        return F.cosine_similarity(u, v)

    def all(self, u: Tensor, v: Tensor) -> Tensor:
        """Compare each row of u with each of v. (B, dim), (C, dim) -> (B, C)."""
        return F.normalize(u, dim=1) @ F.normalize(v, dim=1).T


class TensorAngle(TensorCosine):
    """|cosine + sine| of two vectors read as complex numbers: it has a gradient where the cosine is flat (AnglE, Li & Li 2024)."""

    def pairs(self, u: Tensor, v: Tensor) -> Tensor:
        (a, b), (c, d) = (F.pad(F.normalize(x, dim=1), (0, x.shape[1] % 2)).chunk(2, 1) for x in (u, v))
        return (super().pairs(u, v) + (b * c - a * d).sum(1)).abs()


COSINE = TensorCosine()
TensorSimilarity = TensorCosine | Attended  # scores with gradients, -1..1, higher is closer


class Classification(nn.Module):
    """Cross-entropy of softmax(W(u, v, |u − v|)) against the label; W is trained with the encoder (paper, equation 1)."""

    def __init__(self, dim: int, labels: int, concatenation: str = PAPER_CONCATENATION) -> None:
        super().__init__()
        self.concatenation = concatenation
        blocks = len(CONCATENATIONS[concatenation](torch.empty(0), torch.empty(0)))
        self.head = nn.Linear(blocks * dim, labels)

    def logits(self, u: Tensor, v: Tensor) -> Tensor:
        """(B, dim), (B, dim) -> (B, labels), before the softmax."""
        return self.head(torch.cat(CONCATENATIONS[self.concatenation](u, v), 1))

    def forward(self, embeddings: Sequence[Tensor], labels: Tensor) -> Tensor:
        """embeddings: u and v; labels: (B,) int64 -> mean cross-entropy."""
        u, v = embeddings
        return F.cross_entropy(self.logits(u, v), labels)


class OfSimilarity(nn.Module):
    """What compares two sentences by their similarity alone. scale: of the similarities in a softmax."""

    def __init__(self, scale: float = SCALE, similarity: TensorSimilarity = COSINE) -> None:
        super().__init__()
        self.scale, self.similarity = scale, similarity


class Regression(OfSimilarity):
    """Mean squared error between cosine(u, v), or another similarity, and the gold score (paper, section 3)."""

    def forward(self, embeddings: Sequence[Tensor], scores: Tensor) -> Tensor:
        """embeddings: u and v; scores: (B,) in 0..1."""
        u, v = embeddings
        return F.mse_loss(self.similarity.pairs(u, v), scores)


class Triplet(nn.Module):
    """Mean of max(d(a, p) − d(a, n) + margin, 0): the positive nearer than the negative by the margin (paper, section 3)."""

    def __init__(self, margin: float = 1.0, distance: str = "euclidean") -> None:
        super().__init__()
        self.margin, self.distance = margin, DISTANCE[distance]

    def forward(self, embeddings: Sequence[Tensor], _: Tensor) -> Tensor:
        """embeddings: a, p and n."""
        anchor, positive, negative = embeddings
        return F.relu(self.distance(anchor, positive) - self.distance(anchor, negative) + self.margin).mean()


class MultipleNegativesRanking(OfSimilarity):
    """Cross-entropy of picking an anchor's positive among all positives (and negatives) of the batch (Henderson et al. 2017)."""

    def forward(self, embeddings: Sequence[Tensor], _: Tensor) -> Tensor:
        """embeddings: a and p, or a, p and n. Row i's positive is right, every other candidate wrong."""
        anchor, *candidates = embeddings
        scores = self.scale * self.similarity.all(anchor, torch.cat(candidates))  # (B, candidates)
        return F.cross_entropy(scores, torch.arange(len(anchor), device=anchor.device))


class CoSent(OfSimilarity):
    """log(1 + Σ exp(scale (cos_low − cos_high))) over all pairs of pairs that the gold scores order (Su 2022, CoSENT)."""

    def forward(self, embeddings: Sequence[Tensor], scores: Tensor) -> Tensor:
        """embeddings: u and v; scores: (B,), only their order matters."""
        u, v = embeddings
        cosines = self.scale * self.similarity.pairs(u, v)
        wrong = cosines[:, None] - cosines[None, :]  # (B, B): row i's cosine minus column j's
        wrong = wrong.masked_fill(scores[:, None] >= scores[None, :], -torch.inf)  # only where i should be below j
        return torch.logsumexp(torch.cat([wrong.new_zeros(1), wrong.flatten()]), 0)


class Angle(CoSent):
    """CoSENT of the cosines plus CoSENT of the angles (AnglE, Li & Li 2024)."""

    def __init__(self, scale: float = SCALE) -> None:
        super().__init__(scale)
        self.of_angles = CoSent(scale, TensorAngle())

    def forward(self, embeddings: Sequence[Tensor], scores: Tensor) -> Tensor:
        """embeddings: u and v; scores: (B,), only their order matters."""
        return super().forward(embeddings, scores) + self.of_angles(embeddings, scores)


class OnlineContrastive(nn.Module):
    """Contrastive loss (Hadsell et al. 2006) of a batch's hard pairs: the same yet further apart than others, or nearer yet not."""

    def __init__(self, margin: float = 0.5) -> None:
        super().__init__()
        self.margin = margin  # of the cosine distance

    def forward(self, embeddings: Sequence[Tensor], scores: Tensor) -> Tensor:
        """embeddings: u and v; scores: (B,), above a half the pair is the same."""
        u, v = embeddings
        apart, same = 1 - F.cosine_similarity(u, v), scores > 0.5
        near, far = apart[same], apart[~same]
        hard_near = near > (far.min() if len(far) else near.mean())
        hard_far = far < (near.max() if len(near) else far.mean())
        return near[hard_near].pow(2).sum() + F.relu(self.margin - far[hard_far]).pow(2).sum()


class Guided(MultipleNegativesRanking):
    """Multiple negatives ranking without what a guide finds nearer than the positive: likely no wrong answers (Solatorio 2024)."""

    def forward(self, embeddings: Sequence[Tensor], guide: Tensor) -> Tensor:
        """embeddings: a and p, or a, p and n. guide: those of the guide, (B, 2 or 3, dim)."""
        scores, judged = (self.similarity.all(anchor, torch.cat(others)) for anchor, *others in (embeddings, guide.unbind(1)))
        right = torch.eye(*scores.shape, dtype=torch.bool, device=scores.device)
        false = (judged > judged.diagonal()[:, None]) & ~right
        return F.cross_entropy(self.scale * scores.masked_fill(false, -torch.inf), torch.arange(len(scores), device=scores.device))


def build_objective(
    name: str, dim: int, labels: int, options: ObjectiveOptions, similarity: TensorSimilarity = COSINE
) -> nn.Module:
    """Build the loss module of that name. labels: number of classes."""
    builders: dict[str, Callable[[], nn.Module]] = {
        "classification": lambda: Classification(dim, labels, options.concatenation),
        "regression": lambda: Regression(similarity=similarity),
        "triplet": lambda: Triplet(options.margin, options.distance),
        "cosent": lambda: CoSent(options.scale, similarity),
        "ranking": lambda: MultipleNegativesRanking(options.scale, similarity),
        "angle": lambda: Angle(options.scale),
        "contrastive": OnlineContrastive,
        "guided": lambda: Guided(options.scale),
    }
    return builders[name]()


def save_head(folder: Path, head: Classification, labels: tuple[str, ...]) -> None:
    """Write the head into a model folder. sentence-transformers ignores it."""
    target = folder / HEAD
    target.mkdir(parents=True, exist_ok=True)
    save_file({key: weight.detach().cpu().contiguous() for key, weight in head.state_dict().items()}, target / "model.safetensors")
    write_json(target / "config.json", {"concatenation": head.concatenation, "labels": labels})


def load_head(folder: Path) -> tuple[Classification, tuple[str, ...]] | None:
    """Return (head, labels) of a model folder, None if it has no head. Raises UserError if it is damaged."""
    config = read_json(folder / HEAD / "config.json", folder.name)
    if config == {}:
        return None
    try:
        weights = load_file(folder / HEAD / "model.safetensors")
        labels = tuple(config["labels"])
        blocks = len(Classification(1, 1, config["concatenation"]).head.weight[0])
        head = Classification(weights["head.weight"].shape[1] // blocks, len(labels), config["concatenation"])
        head.load_state_dict(weights)
    except Exception as error:  # safetensors and torch raise half a dozen types
        raise damaged(folder.name, f"{HEAD}: {first_line(error)}") from error
    return head.eval(), labels


def predict_labels(head: Classification, u: Vectors, v: Vectors) -> Rows:
    """The likeliest label of each pair. (n, dim), (n, dim) -> (n,)."""
    with torch.inference_mode():
        return head.logits(*(torch.from_numpy(side).to(head.head.weight.device) for side in (u, v))).argmax(1).cpu().numpy()
