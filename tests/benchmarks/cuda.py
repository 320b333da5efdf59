"""How fast on a GPU, beside sentence-transformers? `python -m tests.benchmarks.cuda` on a machine with torch and little else.

Alternating rounds, medians, one JSON in $OUT or .bench/. `--device cpu` is a tiny dry run, which proves that it works.
"""

import argparse
import json
import logging
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import mse_loss

from sbert_app.labelled.example_set import Examples
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import Hardware, machine
from sbert_app.timing.race import closest_pair
from sbert_app.training.options import TrainingOptions
from tests.benchmarks.timing import alternate, fastest, in_turns
from tests.benchmarks.trainers import train_ours, train_theirs
from tests.cuda.place import ADAPTER, DTYPES, made_sentences, merge_adapter, model_folder

Sides = dict[str, Callable[[], object]]

BATCHES = (128, 512, 2_048)  # of theirs; the fastest is their best
WORDS = {16: 12, 64: 58}  # made words that give about so many tokens


class Benchmark:
    """One device, the sizes that fit it, and a function a figure."""

    def __init__(self, device: str) -> None:
        self.cuda = device == "cuda"
        self.hardware = {name: Hardware(torch.device(device), dtype) for name, dtype in DTYPES.items()}
        self.device = device
        self.batches = BATCHES if self.cuda else BATCHES[:1]
        self.half = torch.float16 if self.cuda else torch.bfloat16  # their fast way: plain float16 on a CPU is a trap

    def size(self, on_a_gpu: int, dry: int) -> int:
        return on_a_gpu if self.cuda else dry

    def rates(self, count: int, sides: Sides) -> dict[str, float]:
        """Things a second of each side, medians; each is warmed up once."""

        def waited(work: Callable[[], object]) -> None:
            work()
            if self.cuda:
                torch.cuda.synchronize()

        waiting = {name: partial(waited, work) for name, work in sides.items()}
        in_turns(waiting, 1)
        return {name: count / seconds for name, seconds in alternate(waiting, 3 if self.cuda else 1).items()}

    def their_encoder(self, dtype: torch.dtype) -> Any:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(model_folder()), device=self.device, model_kwargs={"dtype": dtype})

    def encoding(self) -> dict[str, Any]:
        """Sentences a second at two lengths: ours in fp32 and bf16, theirs at its defaults and at its best."""
        count, result = self.size(20_000, 40), {}
        ours = {name: Encoder.from_folder(model_folder(), place) for name, place in self.hardware.items()}
        plain, fast = self.their_encoder(torch.float32), self.their_encoder(self.half)
        for tokens, words in WORDS.items():
            texts = made_sentences(count, words)
            batch = fastest(self.batches, lambda size, texts=texts: fast.encode(texts, batch_size=size))
            sides: Sides = {f"ours_{name}": partial(encoder.encode, texts) for name, encoder in ours.items()}
            sides |= {
                "theirs_defaults": partial(plain.encode, texts),
                "theirs_best": partial(fast.encode, texts, batch_size=batch),
                "theirs_fp32_same_batch": partial(plain.encode, texts, batch_size=batch),
            }
            mean_tokens = float(np.mean([len(row) for row in ours["fp32"].tokenize(texts)]))
            result[f"{tokens}_tokens"] = {"mean_tokens": mean_tokens, "best_batch": batch, **self.rates(count, sides)}
        return result

    def scoring(self) -> dict[str, float]:
        """Pairs a second of the same cross-encoder, ours and theirs."""
        from sentence_transformers import CrossEncoder as Theirs

        count = self.size(20_000, 40)
        pairs = list(zip(made_sentences(count, 12), made_sentences(count, 12, seed=1), strict=True))
        with tempfile.TemporaryDirectory() as name:
            folder = merge_adapter(model_folder(), ADAPTER, Path(name) / "cross")
            ours = {p: CrossEncoder.from_folder(folder, place) for p, place in self.hardware.items()}
            plain, fast = (
                Theirs(str(folder), device=self.device, model_kwargs={"dtype": dtype}) for dtype in (torch.float32, self.half)
            )
        batch = fastest(self.batches, lambda size: fast.predict(pairs, batch_size=size))
        sides: Sides = {f"ours_{p}": lambda c=cross: c.score(pairs) for p, cross in ours.items()}
        sides |= {"theirs_defaults": lambda: plain.predict(pairs), "theirs_best": lambda: fast.predict(pairs, batch_size=batch)}
        return {"best_batch": batch, **self.rates(count, sides)}

    def training(self) -> dict[str, Any]:
        """Pairs a second of training with cosine regression, batch 64: ours, and theirs mixed with bf16 as ours is."""
        count, batch = self.size(6_400, 16), self.size(64, 8)
        columns = made_sentences(count, 20), made_sentences(count, 20, seed=1)
        scores = np.random.default_rng(0).random(count)
        data, options = Examples("scored", columns, scores, np.arange(1, count + 1)), TrainingOptions(epochs=1, batch_size=batch)
        fp32 = self.hardware["fp32"]
        sides: Sides = {
            f"ours_{name}": lambda place=place: train_ours(Encoder.from_folder(model_folder(), fp32), data, options, place)
            for name, place in self.hardware.items()
        }
        try:
            import datasets  # noqa: F401 - their trainer wants it
        except ImportError:
            sides["their_modules_in_a_plain_loop_bf16"] = lambda: self._train_in_a_loop(data, batch)
        else:
            sides["their_trainer_bf16"] = lambda: train_theirs(self.their_encoder(torch.float32), data, options, bf16=True)
            sides["their_trainer_fp32"] = lambda: train_theirs(self.their_encoder(torch.float32), data, options)
        return {"batch": batch, **self.rates(count, sides)}

    def _train_in_a_loop(self, data: Examples, batch: int) -> None:
        """Their model and tokenizer, cosine regression, AdamW; without their trainer, which wants the package datasets."""
        model = self.their_encoder(torch.float32).train()
        preprocess = getattr(model, "preprocess", None) or model.tokenize
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
        for start in range(0, len(data), batch):
            with torch.autocast(self.device, torch.bfloat16):
                prepared = [preprocess(column[start : start + batch]) for column in data.sentences]
                features = [{k: v.to(self.device) for k, v in each.items() if torch.is_tensor(v)} for each in prepared]
                embeddings = [model(each)["sentence_embedding"] for each in features]
            gold = torch.tensor(data.targets[start : start + batch], dtype=torch.float32, device=self.device)
            optimizer.zero_grad(set_to_none=True)
            mse_loss(torch.cosine_similarity(*embeddings).float(), gold).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    def most_similar_pair(self) -> dict[str, float]:
        """Seconds from 10,000 sentences to the closest pair: tokenise, encode, compare all. Loading is not in it."""
        count = self.size(10_000, 60)
        texts = made_sentences(count, 12)
        sides: Sides = {}
        for name, place in self.hardware.items():
            encode = Encoder.from_folder(model_folder(), place).encode
            sides[name] = lambda encode=encode: closest_pair(encode(texts))
        rates = self.rates(1, sides)
        return {"sentences": count, **{f"seconds_{name}": 1 / rate for name, rate in rates.items()}}

    def memory(self) -> dict[str, float]:
        """The most that was allocated while 20,000 sentences were encoded, in MiB; 0 where the device is no GPU."""
        if not self.cuda:
            return dict.fromkeys(self.hardware, 0.0)
        peaks = {}
        for name, place in self.hardware.items():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            Encoder.from_folder(model_folder(), place).encode(made_sentences(20_000, 58))
            peaks[name] = torch.cuda.max_memory_allocated() / 2**20
        return peaks


FIGURES = ("encoding", "scoring", "training", "most_similar_pair", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("figures", nargs="*", choices=[[], *FIGURES], default=[])
    chosen = parser.parse_args()
    if chosen.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("No CUDA device here. `--device cpu` is a tiny dry run.")
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    benchmark = Benchmark(chosen.device)
    result: dict[str, Any] = {"machine": f"{machine()}, {benchmark.hardware['bf16']}", "torch": torch.__version__}
    out = Path(os.environ.get("OUT") or ".bench")
    out.mkdir(parents=True, exist_ok=True)
    path = out / ("cuda.json" if benchmark.cuda else "cuda_dry_run.json")
    for name in chosen.figures or FIGURES:
        print(name, flush=True)
        result[name] = getattr(benchmark, name)()
        path.write_text(json.dumps(result, indent=2), encoding="utf-8")  # what was measured stays, should the next one fail
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
