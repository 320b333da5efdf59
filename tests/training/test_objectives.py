"""Values and gradients are those of sentence-transformers."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as oracle
from torch import nn

from sbert_app.training.objectives import OnlineContrastive, build_objective
from sbert_app.training.options import DISTANCES, ObjectiveOptions

DIM, ROWS = 6, 5


class Given(nn.Module):
    """Stands where sentence-transformers has its model: the embeddings are the features."""

    device = torch.device("cpu")

    def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"sentence_embedding": features["x"]}

    def get_embedding_dimension(self) -> int:
        return DIM


@pytest.fixture
def embeddings() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(ROWS, DIM, generator=generator, requires_grad=True) for _ in range(3)]


def agree(ours: torch.Tensor, theirs: torch.Tensor, inputs: list[torch.Tensor], heads: Sequence[nn.Module] = ()) -> None:
    """In their values, and in their gradients by the inputs and by the weights of ours and of their head."""
    assert torch.allclose(ours, theirs, atol=1e-6)
    of_ours, of_theirs = ([*inputs, *head.parameters()] for head in heads or (nn.Module(),) * 2)
    for mine, other in zip(torch.autograd.grad(ours, of_ours), torch.autograd.grad(theirs, of_theirs), strict=True):
        assert mine.abs().max() > 1e-5
        assert torch.allclose(mine, other, atol=1e-6)


def features(tensors: list[torch.Tensor]) -> list[dict[str, torch.Tensor]]:
    return [{"x": tensor} for tensor in tensors]


@pytest.mark.parametrize(("concatenation", "flags"), [
    ("(u, v)", (True, False, False)), ("(|u − v|)", (False, True, False)), ("(u ∗ v)", (False, False, True)),
    ("(|u − v|, u ∗ v)", (False, True, True)), ("(u, v, u ∗ v)", (True, False, True)), ("(u, v, |u − v|)", (True, True, False)),
    ("(u, v, |u − v|, u ∗ v)", (True, True, True)),
])  # fmt: skip
def test_classification_equals_softmax_loss(embeddings, concatenation, flags):
    theirs = oracle.SoftmaxLoss(Given(), DIM, 3, *flags)
    ours = build_objective("classification", DIM, 3, ObjectiveOptions(concatenation))
    ours.head.load_state_dict(theirs.classifier.state_dict())
    labels = torch.tensor([0, 2, 1, 1, 0])
    pair = embeddings[:2]
    agree(ours(pair, labels), theirs(features(pair), labels), pair, (ours.head, theirs.classifier))


def built(name: str, **options: Any) -> nn.Module:
    return build_objective(name, DIM, 0, ObjectiveOptions(**options))


def triplet_loss(distance: str) -> nn.Module:
    return oracle.TripletLoss(Given(), getattr(oracle.TripletDistanceMetric, distance.upper()), triplet_margin=3)


@pytest.mark.parametrize(
    ("ours", "theirs", "towers"),
    [
        (built("regression"), oracle.CosineSimilarityLoss(Given()), 2),
        (built("cosent", scale=2), oracle.CoSENTLoss(Given(), scale=2), 2),
        (built("ranking"), oracle.MultipleNegativesRankingLoss(Given()), 2),
        (built("ranking"), oracle.MultipleNegativesRankingLoss(Given()), 3),
        (built("angle"), lambda *given: oracle.CoSENTLoss(Given())(*given) + oracle.AnglELoss(Given())(*given), 2),
        *((built("triplet", margin=3, distance=name), triplet_loss(name), 3) for name in DISTANCES),
    ],
)
def test_an_objective_equals_that_of_sentence_transformers(embeddings, ours, theirs, towers):
    given, scores = embeddings[:towers], torch.tensor([0.0, 0.3, 0.3, 0.8, 1.0])
    agree(ours(given, scores), theirs(features(given), scores), given)


@pytest.mark.parametrize("same", [[0, 1, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]])
def test_contrastive_equals_online_contrastive_loss(embeddings, same):
    labels, pair = torch.tensor(same), embeddings[:2]
    agree(OnlineContrastive(1)(pair, labels.float()), oracle.OnlineContrastiveLoss(Given(), margin=1)(features(pair), labels), pair)


@pytest.mark.parametrize("towers", [2, 3])
def test_guided_equals_gist_loss(embeddings, towers):
    class Guide(Given):
        def forward(self, features):
            return {"sentence_embedding": features["guide"]}

    given, generator = embeddings[:towers], torch.Generator().manual_seed(3)
    guides = [torch.randn(ROWS, DIM, generator=generator) for _ in given]
    theirs = oracle.GISTEmbedLoss.__new__(oracle.GISTEmbedLoss)  # its __init__ asks both models for tokenizers
    nn.Module.__init__(theirs)
    options = {"model": Given(), "guide": Guide(), "temperature": 0.05, "margin": 0.0, "margin_strategy": "absolute"}
    options |= {"similarity_fct": nn.CosineSimilarity(-1), "cross_entropy_loss": nn.CrossEntropyLoss()}
    off = "must_retokenize", "contrast_anchors", "contrast_positives", "gather_across_devices"
    for name, value in (options | dict.fromkeys(off, False)).items():
        setattr(theirs, name, value)
    expected = theirs([{"x": x, "guide": guide} for x, guide in zip(given, guides, strict=True)], torch.zeros(ROWS))
    agree(built("guided")(given, torch.stack(guides, 1)), expected, given)
    assert expected.item() != pytest.approx(built("ranking")(given, torch.zeros(ROWS)).item())  # something was left out


def test_options_check_themselves():
    with pytest.raises(ValueError, match="unknown concatenation"):
        ObjectiveOptions(concatenation="(v)")
    with pytest.raises(ValueError, match="margin"):
        ObjectiveOptions(margin=-1)
