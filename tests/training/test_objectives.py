"""Values and gradients: against numbers worked out by hand, finite differences, and sentence-transformers."""

import math

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as oracle
from torch import nn

from sbert_app.training.objectives import Classification, CoSent, MultipleNegativesRanking, Regression, Triplet, build_objective
from sbert_app.training.options import CONCATENATIONS, DISTANCES, OBJECTIVES, ObjectiveOptions

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


def agree(ours: torch.Tensor, theirs: torch.Tensor, inputs: list[torch.Tensor]) -> None:
    assert torch.allclose(ours, theirs, atol=1e-6)
    for mine, other in zip(torch.autograd.grad(ours, inputs), torch.autograd.grad(theirs, inputs), strict=True):
        assert mine.abs().max() > 1e-5
        assert torch.allclose(mine, other, atol=1e-6)


def features(tensors: list[torch.Tensor]) -> list[dict[str, torch.Tensor]]:
    return [{"x": tensor} for tensor in tensors]


def test_regression_by_hand():
    u, v = torch.tensor([[1.0, 0.0], [3.0, 4.0]]), torch.tensor([[1.0, 1.0], [4.0, 3.0]])
    cosines = 1 / math.sqrt(2), 24 / 25
    expected = ((cosines[0] - 0.2) ** 2 + (cosines[1] - 1.0) ** 2) / 2
    assert Regression()([u, v], torch.tensor([0.2, 1.0])).item() == pytest.approx(expected, abs=1e-6)


def test_triplet_by_hand_prefers_the_near_positive():
    anchor, near, far = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([[3.0, 4.0]])
    assert Triplet()([anchor, near, far], torch.zeros(1)).item() == pytest.approx(0.0)
    assert Triplet()([anchor, far, near], torch.zeros(1)).item() == pytest.approx(5 - 1 + 1, abs=1e-4)
    assert Triplet(margin=3)([anchor, far, near], torch.zeros(1)).item() == pytest.approx(7, abs=1e-4)


def test_classification_by_hand():
    objective = Classification(2, 2)
    with torch.no_grad():
        objective.head.weight.copy_(torch.tensor([[1.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 2.0]]))
        objective.head.bias.zero_()
    u, v = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 5.0]])
    # (u, v, |u − v|) = (1, 2, 0, 5, 1, 3): logits 1 and 6.
    assert objective([u, v], torch.tensor([1])).item() == pytest.approx(math.log(1 + math.exp(1 - 6)), abs=1e-6)


def test_cosent_by_hand_counts_only_wrong_order():
    u = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    v = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # cosines 1 and 0
    assert CoSent(scale=2)([u, v], torch.tensor([1.0, 0.0])).item() == pytest.approx(math.log(1 + math.exp(-2)), abs=1e-6)
    assert CoSent(scale=2)([u, v], torch.tensor([0.0, 1.0])).item() == pytest.approx(math.log(1 + math.exp(2)), abs=1e-6)
    assert CoSent(scale=2)([u, v], torch.tensor([0.5, 0.5])).item() == pytest.approx(0.0)


def test_ranking_by_hand():
    anchor = positive = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    loss = MultipleNegativesRanking(scale=1)([anchor, positive], torch.zeros(2))
    assert loss.item() == pytest.approx(math.log(math.e + 1) - 1, abs=1e-6)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradients_equal_finite_differences(name):
    torch.manual_seed(1)
    objective = build_objective(name, 3, 2, ObjectiveOptions(margin=1.0)).double()
    kinds = OBJECTIVES[name].kinds
    towers = 3 if "triplets" in kinds and name == "triplet" else 2
    inputs = [torch.randn(4, 3, dtype=torch.double, requires_grad=True) for _ in range(towers)]
    target = torch.tensor([0, 1, 1, 0]) if name == "classification" else torch.tensor([0.1, 0.9, 0.4, 0.4], dtype=torch.double)
    assert torch.autograd.gradcheck(lambda *x: objective(list(x), target), inputs, eps=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("concatenation", "flags"),
    [
        ("(u, v)", (True, False, False)),
        ("(|u − v|)", (False, True, False)),
        ("(u ∗ v)", (False, False, True)),
        ("(|u − v|, u ∗ v)", (False, True, True)),
        ("(u, v, u ∗ v)", (True, False, True)),
        ("(u, v, |u − v|)", (True, True, False)),
        ("(u, v, |u − v|, u ∗ v)", (True, True, True)),
    ],
)
def test_classification_equals_softmax_loss(embeddings, concatenation, flags):
    theirs = oracle.SoftmaxLoss(Given(), DIM, 3, *flags)
    ours = Classification(DIM, 3, concatenation)
    ours.head.load_state_dict(theirs.classifier.state_dict())
    labels = torch.tensor([0, 2, 1, 1, 0])
    pair = embeddings[:2]
    agree(ours(pair, labels), theirs(features(pair), labels), pair)
    heads = zip(
        torch.autograd.grad(ours(pair, labels), list(ours.head.parameters())),
        torch.autograd.grad(theirs(features(pair), labels), list(theirs.classifier.parameters())),
        strict=True,
    )
    assert all(torch.allclose(mine, other, atol=1e-6) for mine, other in heads)


def test_every_concatenation_of_table_6_is_there():
    assert len(CONCATENATIONS) == 7


def test_regression_equals_cosine_similarity_loss(embeddings):
    scores = torch.tensor([0.0, 0.3, 0.5, 0.8, 1.0])
    pair = embeddings[:2]
    agree(Regression()(pair, scores), oracle.CosineSimilarityLoss(Given())(features(pair), scores), pair)


@pytest.mark.parametrize("distance", DISTANCES)
def test_triplet_equals_triplet_loss(embeddings, distance):
    metric = getattr(oracle.TripletDistanceMetric, distance.upper())
    theirs = oracle.TripletLoss(Given(), distance_metric=metric, triplet_margin=1)
    agree(Triplet(1, distance)(embeddings, torch.zeros(ROWS)), theirs(features(embeddings), torch.zeros(ROWS)), embeddings)


def test_cosent_equals_cosent_loss(embeddings):
    scores, pair = torch.tensor([0.0, 0.3, 0.3, 0.8, 1.0]), embeddings[:2]
    agree(CoSent()(pair, scores), oracle.CoSENTLoss(Given())(features(pair), scores), pair)


@pytest.mark.parametrize("towers", [2, 3])
def test_ranking_equals_multiple_negatives_ranking_loss(embeddings, towers):
    given = embeddings[:towers]
    theirs = oracle.MultipleNegativesRankingLoss(Given())(features(given), torch.zeros(ROWS))
    agree(MultipleNegativesRanking()(given, torch.zeros(ROWS)), theirs, given)


def test_options_check_themselves():
    with pytest.raises(ValueError, match="unknown concatenation"):
        ObjectiveOptions(concatenation="(v)")
    with pytest.raises(ValueError, match="margin"):
        ObjectiveOptions(margin=-1)
