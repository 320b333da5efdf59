"""The training loop: AdamW, linear warm-up and decay, clipping, evaluations.

A run is a generator of events: the caller decides when to continue, when to stop (`close`) and which weights to keep.
"""

import logging
import math
from collections.abc import Generator, Iterator
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from sbert_app.errors import UserError
from sbert_app.models.engine.hardware import Hardware
from sbert_app.step import each_within
from sbert_app.training.options import TrainingOptions
from sbert_app.training.trainee import BatchLoss, Evaluation, Event, Trainee
from sbert_app.vectors import Rows

log = logging.getLogger(__name__)

CPU_CHUNK = 8_192  # padded tokens per forward pass: keeps steps short, so that a run stops soon
CUDA_CHUNK = 262_144  # halved when the device runs out of memory
AVERAGE_BEGINS = 10  # updates after which half of the mean is the last ones
LEAST_EVALUATIONS, MOST_EVALUATIONS = 6, 10

State = dict[str, Tensor]


class Trainer:
    """Train a trainee. `state` and `load` move a run to another process, which continues it identically."""

    def __init__(self, trainee: Trainee, options: TrainingOptions, hardware: Hardware) -> None:
        self.step = self.evaluated = 0
        self.best = -math.inf
        self._trainee, self._options, self._autocast = trainee, options, hardware.autocast
        self._chunk = CUDA_CHUNK if hardware.device.type == "cuda" else CPU_CHUNK
        self._epoch_steps = -(-len(trainee.lengths) // options.batch_size)
        self.steps = self._epoch_steps * options.epochs
        self._epoch, self._batches = -1, list[Rows]()
        evaluations = min(max(2 * options.epochs, LEAST_EVALUATIONS), MOST_EVALUATIONS)
        self.evaluate_after = {math.ceil(self.steps * i / evaluations) for i in range(1, evaluations + 1)}
        self.evaluations = len(self.evaluate_after)
        self._optimizer = _optimizer(trainee, options)
        self._mean: State = {}  # of the weights, where they are averaged

    def run(self) -> Generator[Event]:
        """Train from the start or the loaded state to the end. Nothing else may use the module until it is done or closed."""
        while True:
            if self.step in self.evaluate_after and self.evaluated < self.step:
                yield from self._evaluate()
            if self.step == self.steps:
                return
            yield from self._update(self._next_batch())

    def _next_batch(self) -> Rows:
        epoch, position = divmod(self.step, self._epoch_steps)
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self._trainee.batches(self._options.batch_size, self._options.seed, epoch)
        return self._batches[position]

    def measure(self) -> Iterator[float | None]:
        """Yield None per batch of dev examples, then the dev score of `weights`; training continues unchanged."""
        self._trainee.module.eval()
        current = self._current() if self._mean else {}
        self.load_weights(self._mean)
        try:
            yield from each_within(self._autocast, self._trainee.evaluate())  # autocast is per thread, not per generator
        finally:
            self.load_weights(current)

    def _evaluate(self) -> Iterator[Event]:
        for score in self.measure():
            if score is None:
                yield None
                continue
            best, self.best, self.evaluated = score > self.best, max(score, self.best), self.step
            yield Evaluation(self.step, score, best)

    def _update(self, rows: Rows) -> Iterator[Event]:
        self._trainee.module.train()
        for group in self._optimizer.param_groups:
            group["lr"] = group["rate"] * self._schedule(self.step)
        loss = yield from self._gradients(rows)
        if not math.isfinite(loss):
            raise UserError(f"The loss became NaN or infinite at step {self.step + 1}. Choose a lower learning rate.")
        nn.utils.clip_grad_norm_(self._trainee.module.parameters(), self._options.max_norm)
        self._optimizer.step()
        self.step += 1
        self._average()
        yield BatchLoss(self.step, loss, len(rows))

    def _gradients(self, rows: Rows) -> Generator[None, None, float]:
        """Compute the gradients of a batch, yielding between chunks; returns the loss. Out of memory: halve the chunks."""
        while True:
            self._optimizer.zero_grad(set_to_none=True)
            try:
                return (yield from self._backward(rows))
            except torch.OutOfMemoryError:
                width = self._trainee.towers * int(self._trainee.lengths[rows].max())
                self._chunk = min(self._chunk, width * len(rows)) // 2
                if self._chunk < width:
                    raise UserError("Not even one example fits into the device's memory. Choose a smaller model.") from None
                log.warning("out of device memory: continuing with chunks of %d tokens, same batch size", self._chunk)
            torch.cuda.empty_cache()  # outside the except block: the traceback would keep the failed tensors alive

    def _backward(self, rows: Rows) -> Generator[None, None, float]:
        """Forward and backward pass. A batch of several chunks runs twice (GradCache, Gao et al. 2021): first without gradients,
        for the loss over the whole batch, then chunk by chunk with that loss's gradient. So the loss may compare any examples.
        """
        chunks = self._chunks(rows)
        if len(chunks) == 1:
            loss = self._trainee.loss(self._forward(rows, 0), rows)
            loss.backward()
            return loss.item()
        outputs = []
        for i, chunk in enumerate(chunks):
            with torch.no_grad():
                outputs.append(self._forward(chunk, i))
            yield
        joined = torch.cat(outputs).requires_grad_()
        loss = self._trainee.loss(joined, rows)
        loss.backward()
        gradients = torch.split(cast(Tensor, joined.grad), [len(chunk) for chunk in chunks])
        for i, (chunk, gradient) in enumerate(zip(chunks, gradients, strict=True)):
            self._forward(chunk, i).backward(gradient)
            yield
        return loss.item()

    def _forward(self, rows: Rows, chunk: int) -> Tensor:
        # The same dropout when a chunk is computed again, here or in a resumed run.
        torch.manual_seed((self._options.seed * 1_000_003 + self.step) * 1_009 + chunk)
        with self._autocast():
            return self._trainee.forward(rows).float()

    def _chunks(self, rows: Rows) -> list[Rows]:
        width = self._trainee.towers * int(self._trainee.lengths[rows].max())
        return np.array_split(rows, min(len(rows), -(-width * len(rows) // self._chunk)))

    def _schedule(self, step: int) -> float:
        """Factor of the learning rate at this step: linear warm-up, then linear decay to zero."""
        warmup = math.ceil(self.steps * self._options.warmup)
        return (step + 1) / warmup if step < warmup else (self.steps - step) / max(1, self.steps - warmup)

    def _average(self) -> None:
        """Move the mean of the weights towards them; it forgets as fast as there are few of them (Polyak & Juditsky 1992)."""
        if self._options.average:
            share = 1 - min(self._options.average, self.step / (self.step + AVERAGE_BEGINS))
            self._mean = {name: torch.lerp(self._mean.get(name, now), now, share) for name, now in self._trained().items()}

    def _trained(self) -> State:
        return {name: p.detach() for name, p in self._trainee.module.named_parameters() if p.requires_grad}

    def _current(self) -> State:
        return {name: weight.cpu().clone() for name, weight in self._trained().items()}

    def weights(self) -> State:
        """The trained weights by name, on the CPU: their mean over the last updates where the options say so."""
        return {name: mean.cpu() for name, mean in self._mean.items()} or self._current()

    def load_weights(self, weights: State) -> None:
        """Restore what `weights` returned, or a part of it."""
        parameters = dict(self._trainee.module.named_parameters())
        with torch.no_grad():
            for name, weight in weights.items():
                parameters[name].copy_(weight)

    def state(self) -> State:
        """What another process needs to continue: weights, AdamW moments, step, best dev score, last evaluated step."""
        state = {f"weight/{name}": weight for name, weight in self._current().items()}
        state |= {f"mean/{name}": mean.cpu() for name, mean in self._mean.items()}
        for name, parameter in self._trainee.module.named_parameters():
            moments = self._optimizer.state.get(parameter, {})
            state |= {f"{key}/{name}": value.detach().cpu().clone() for key, value in moments.items()}
        return state | {"run/progress": torch.tensor([self.step, self.best, self.evaluated], dtype=torch.float64)}

    def load(self, state: State) -> None:
        """Restore what `state` returned."""
        step, self.best, evaluated = state["run/progress"].tolist()
        self.step, self.evaluated = int(step), int(evaluated)
        self.load_weights({name.removeprefix("weight/"): value for name, value in state.items() if name.startswith("weight/")})
        for name, parameter in self._trainee.module.named_parameters():
            if (mean := state.get(f"mean/{name}")) is not None:
                self._mean[name] = mean.to(parameter.device)
            moments = {key: state[f"{key}/{name}"] for key in ("step", "exp_avg", "exp_avg_sq") if f"{key}/{name}" in state}
            if moments:  # the step too: fused AdamW wants it beside the weights
                self._optimizer.state[parameter] = {key: value.to(parameter.device).clone() for key, value in moments.items()}


def _optimizer(trainee: Trainee, options: TrainingOptions) -> torch.optim.AdamW:
    """rate, of a group: that which the schedule multiplies."""
    head = trainee.head()
    in_head = {id(parameter) for parameter in head}
    body = [p for p in trainee.module.parameters() if p.requires_grad and id(p) not in in_head]
    rates = (body, options.learning_rate), (head, options.head_rate)
    groups = [{"params": parameters, "rate": rate} for parameters, rate in rates if parameters]
    # No weight decay, as in the paper (Adam); Vocabulary relies on it.
    return torch.optim.AdamW(groups, weight_decay=0.0, fused=True)
