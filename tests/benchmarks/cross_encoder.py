"""The bundled cross-encoder, made again by one command: `python -m tests.benchmarks cross_encoder`. Half an hour on 2 cores.

1. NLI classification, as in the paper (a LoRA adapter on the bundled encoder's transformer).
2. Silver scores: three siamese encoders, trained on STSb, score NLI pairs and pairs of near sentences (Thakur et al. 2021).
3. STSb train, in both orders, with the gold scores.
No pair of STSb dev or test is trained on; dev chooses the checkpoints, test is scored once at the end.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sbert_app.evaluation.agreement import spearman
from sbert_app.evaluation.verdict import METRICS, measure
from sbert_app.labelled.examples import Examples
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import at_once
from sbert_app.models.files.finding import CROSS_ENCODER, bundled_folder
from sbert_app.models.files.layout import write_json
from sbert_app.models.loading import LOADING
from sbert_app.training.crossing import PairTrainee, pairs_of
from sbert_app.training.options import TrainingOptions
from sbert_app.training.siamese import gather
from sbert_app.vectors import Rows, Vectors, unit_rows
from tests.benchmarks import data
from tests.benchmarks.training import HARDWARE, fit, train

BASE = "sentence-transformers/all-MiniLM-L6-v2"
HEAD = ("pooler", "classifier")  # trained in full: random, or trained for another task
RANK = 32  # of the LoRA adapter
LABELS = ("contradiction", "entailment", "neutral")
NLI = ("snli/train_subset", "snli_cad/revised_train", "multinli/taxinli_from_mnli_train")
NEIGHBOURS = 45_000, 40_000, 15_000  # pairs of near sentences of NLI, STSb train and Stack Overflow titles
TEACHERS = (
    ("regression", TrainingOptions(epochs=2, batch_size=16, learning_rate=2e-5, seed=0)),
    ("cosent", TrainingOptions(epochs=3, batch_size=32, learning_rate=5e-5, seed=1)),
    ("cosent", TrainingOptions(epochs=3, batch_size=32, learning_rate=5e-5, seed=2)),
)
CROSS_NLI = CROSS_SILVER = TrainingOptions(epochs=1, batch_size=32, learning_rate=5e-4, head_rate=5e-4)
CROSS_GOLD = TrainingOptions(epochs=2, batch_size=32, learning_rate=2e-4, head_rate=2e-4)
GOLD_WEIGHT = 0.7  # the rest of the last stage's target is the teachers' score: it evens out the noise of single annotations
STAGES = Path(".bench") / "cross_encoder"


class CrossEncoderTrainee(PairTrainee):
    """As the app's, but frozen weights stay frozen, and labelled pairs may have one output per label (cross-entropy)."""

    def __init__(self, cross: CrossEncoder, train: Examples, dev: Examples) -> None:
        self.encoder, self.module, self._dev = cross, cross.transformer, dev
        self._rows, self._dev_rows = cross.tokenize(pairs_of(train)), cross.tokenize(pairs_of(dev))
        self.lengths = np.array([len(row.ids) for row in self._rows], dtype=np.int64)
        self._scored = cross.labels == 1
        self.objective = nn.BCEWithLogitsLoss() if self._scored else nn.CrossEntropyLoss()
        targets = train.gold.astype(np.float32) if self._scored else train.targets.astype(np.int64)
        self._targets = torch.from_numpy(targets).to(cross.hardware.device)

    def head(self) -> list[nn.Parameter]:
        return [p for name, p in self.module.named_parameters() if p.requires_grad and "classifier" in name]

    def loss(self, outputs: Tensor, rows: Rows) -> Tensor:
        """outputs: (b, labels) logits."""
        return self.objective(outputs[:, 0] if self._scored else outputs, self._targets[torch.from_numpy(rows)])

    def evaluate(self) -> Iterator[float | None]:
        """Yield None per dev batch, then Spearman (scored) or average precision of the positive label (labelled)."""
        cross, lengths, kind = self.encoder, [len(row.ids) for row in self._dev_rows], self._dev.kind
        logits = yield from gather(cross.batches(self._dev_rows, lengths, at_once(cross.logits)), len(lengths), cross.labels)
        values = logits[:, 0 if self._scored else self._dev.positive].astype(float)
        yield measure(kind, values, self._dev.gold)[next(iter(METRICS[kind]))]


def add_adapter(cross: CrossEncoder) -> CrossEncoder:
    """Freeze all weights but the head, and add a LoRA adapter to every linear layer of the blocks; it shares the weights."""
    with LOADING:
        from peft import LoraConfig, get_peft_model

        torch.manual_seed(0)
        linear = [name for name, module in cross.transformer.named_modules() if isinstance(module, nn.Linear)]
        inner = [name for name in linear if not any(part in name for part in HEAD)]
        config = LoraConfig(task_type="SEQ_CLS", r=RANK, lora_alpha=2 * RANK, target_modules=inner, modules_to_save=list(HEAD))
        return CrossEncoder(cross.name, get_peft_model(cross.transformer, config), cross.tokenizer, cross.hardware)


def save_adapter(cross: CrossEncoder, folder: Path) -> None:
    """Write the adapter and the head only, in half precision, for `CrossEncoder.from_adapter`."""
    cross.transformer.peft_config["default"].base_model_name_or_path = BASE  # otherwise a local path
    cross.transformer.save_pretrained(folder, safe_serialization=True)
    weights = load_file(folder / "adapter_model.safetensors")
    save_file({name: weight.half() for name, weight in weights.items()}, folder / "adapter_model.safetensors")
    (folder / "README.md").unlink(missing_ok=True)  # peft's empty template
    write_json(folder / "labels.json", {"labels": cross.labels})


def labelled(*names: str) -> Examples:
    """NLI parts in one; rows without one of the three labels are left out."""
    rows = [row for name in names for row in data.rows(name) if row["label"] in LABELS]
    return data.examples("labelled", rows, [LABELS.index(row["label"]) for row in rows], LABELS, LABELS.index("entailment"))


def embed(encoder: Encoder, sentences: list[str]) -> Vectors:
    with torch.autocast(HARDWARE.device.type, torch.bfloat16, enabled=HARDWARE.dtype == torch.bfloat16):
        return unit_rows(encoder.encode(sentences))


class Teachers:
    """The mean of several encoders' cosines, each brought to the scale of the gold scores by their ranking on STSb train."""

    def __init__(self, encoders: list[Encoder], train: Examples) -> None:
        self._encoders = encoders
        self._gold = np.sort(train.gold)
        self._scales = [np.sort(cosines) for cosines in self._cosines(*train.sentences)]

    def score(self, first: list[str], second: list[str]) -> np.ndarray:
        """(n,) silver scores, 0..1."""
        cosines = zip(self._cosines(first, second), self._scales, strict=True)
        return np.mean([np.interp(values, scale, self._gold) for values, scale in cosines], axis=0)

    def _cosines(self, first: list[str], second: list[str]) -> list[np.ndarray]:
        return [np.einsum("nd,nd->n", embed(e, first), embed(e, second)) for e in self._encoders]


def neighbours(encoder: Encoder, sentences: list[str], count: int, generator: np.random.Generator) -> list[tuple[str, str]]:
    """`count` pairs: half with one of the three nearest, four in ten with one of the next forty, the rest at random."""
    anchors = generator.integers(len(sentences), size=count)
    vectors = embed(encoder, sentences)
    pairs = []
    for chunk in np.array_split(anchors, max(1, count // 2_000)):
        distances = -(vectors[chunk] @ vectors.T)
        close = np.argpartition(distances, 44, axis=1)[:, :44]  # a full sort of all sentences takes minutes
        order = np.argsort(np.take_along_axis(distances, close, axis=1), axis=1)
        nearest = np.take_along_axis(close, order, axis=1)[:, 1:]
        for anchor, near in zip(chunk, nearest, strict=True):
            kind = generator.random()
            other = near[generator.integers(3)] if kind < 0.5 else near[generator.integers(3, 43)]
            other = generator.integers(len(sentences)) if kind > 0.9 else other
            pairs.append((sentences[anchor], sentences[other]))
    return pairs


def silver(teachers: Teachers, near: Encoder, train: Examples, nli: Examples, judges: list[Examples]) -> Examples:
    """Pairs with the teachers' scores: NLI pairs, and near sentences of NLI, STSb train and Stack Overflow titles."""
    generator = np.random.default_rng(0)
    titles = [row["text"] for row in data.rows("topics/stackoverflow_titles")]
    pairs = pairs_of(nli)
    for count, columns in zip(NEIGHBOURS, (nli.sentences, train.sentences, [titles]), strict=True):
        pairs += neighbours(near, sorted(set().union(*columns)), count, generator)
    pairs = [(a, b) for a, b in dict.fromkeys(pairs) if a != b]
    examples = Examples("scored", ([a for a, _ in pairs], [b for _, b in pairs]), np.zeros(len(pairs)), np.arange(len(pairs)))
    judged = {pair for judge in judges for place in range(len(judge)) for pair in judge.pairs_of(place)}
    examples = examples.take(np.array([place for place in range(len(pairs)) if judged.isdisjoint(examples.pairs_of(place))]))
    return replace(examples, targets=teachers.score(*examples.sentences))


def student(labels: int, before: CrossEncoder | None = None) -> CrossEncoder:
    """A fresh head on the adapter of the stage before."""
    cross = add_adapter(CrossEncoder.untrained(bundled_folder(), HARDWARE, labels))
    if before:
        parameters = dict(cross.transformer.named_parameters())
        with torch.no_grad():
            for name, weight in before.transformer.named_parameters():
                if weight.requires_grad and ("classifier" not in name or before.labels == labels):
                    parameters[name].copy_(weight)
    return cross


def both_orders(examples: Examples) -> Examples:
    first, second = examples.sentences
    rows = np.concatenate([examples.rows, examples.rows])
    return replace(examples, sentences=(first + second, second + first), targets=np.tile(examples.targets, 2), rows=rows)


def report() -> dict[str, object]:
    start = time.perf_counter()
    (stsb, dev, test), nli = (data.scored(f"stsb/{part}") for part in ("train", "dev", "test")), labelled(*NLI)
    seconds = {}

    def lap(name: str) -> None:
        seconds[name] = time.perf_counter() - start - sum(seconds.values())
        print(f"{name}: {seconds[name]:.0f} s", flush=True)

    encoders = [train(objective, options, stsb, dev)[0] for objective, options in TEACHERS]
    teachers = Teachers(encoders, stsb)
    lap("teachers")
    cross = student(len(LABELS))
    fit(CrossEncoderTrainee(cross, nli, labelled("snli_cad/revised_dev")), CROSS_NLI)
    lap("NLI")
    scores = silver(teachers, encoders[0], stsb, nli, [dev, test])
    cross = student(1, cross)
    silver_dev = fit(CrossEncoderTrainee(cross, scores, dev), CROSS_SILVER)
    save_adapter(cross, STAGES / "silver")
    lap("silver")
    mixed = replace(stsb, targets=GOLD_WEIGHT * stsb.targets + (1 - GOLD_WEIGHT) * teachers.score(*stsb.sentences))
    gold_dev = fit(CrossEncoderTrainee(cross, both_orders(mixed), dev), CROSS_GOLD)
    cross.transformer.eval()
    save_adapter(cross, STAGES / "gold")
    lap("gold")
    scored_test = CrossEncoder.from_adapter(bundled_folder(), STAGES / "gold", HARDWARE).score(pairs_of(test))
    return {
        "stsb_test_spearman_x100": 100 * spearman(scored_test, test.gold),
        "stsb_dev_spearman_x100": {"silver": 100 * silver_dev, "gold": 100 * gold_dev},
        "teachers_test_spearman_x100": 100 * spearman(teachers.score(*test.sentences), test.gold),
        "pairs": {"NLI": len(nli), "silver": len(scores), "gold": len(stsb)},
        "seconds": seconds,
        "megabytes": sum(path.stat().st_size for path in (STAGES / "gold").iterdir()) / 1e6,
        "copy_to": str(CROSS_ENCODER),
    }
