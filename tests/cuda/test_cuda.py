"""The checks on a GPU as tests, or as a dry run; and they start where nothing but torch, transformers and their kind is installed.

Skipped where there is no GPU; SBERT_CUDA_CHECKS_DEVICE=cpu: a dry run.
"""

import subprocess
import sys

import numpy as np
import pytest

from tests.cuda import checks, memory, place
from tests.cuda.place import ADAPTER, CPU, ROOT, merge_adapter


def bare(*arguments):
    command = [sys.executable, "-m", "tests.cuda.bare", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["tests.cuda", "tests.benchmarks.cuda"])
def test_it_starts_on_a_bare_machine(module):
    run = bare(module, *(["--help"] if module.endswith("benchmarks.cuda") else []))
    assert run.returncode == 0, run.stderr


def test_the_bare_machine_lacks_what_it_should():
    run = bare("sbert_app")
    assert run.returncode != 0 and "on a bare machine" in run.stderr


def test_the_adapter_merged_by_hand_is_what_peft_merges(model_folder, sentences, tmp_path):
    from sbert_app.models.cross_encoder import CrossEncoder

    pairs = list(zip(sentences[:20], sentences[20:40], strict=True))
    by_hand = CrossEncoder.from_folder(merge_adapter(model_folder, ADAPTER, tmp_path), CPU)
    by_peft = CrossEncoder.from_adapter(model_folder, ADAPTER, CPU)
    assert np.abs(by_hand.score(pairs) - by_peft.score(pairs)).max() < 1e-5


@pytest.mark.cuda
@pytest.mark.skipif(not place.available(), reason="no CUDA device")
@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
def test_the_gpu_computes_what_the_cpu_does(check):
    check()


@pytest.mark.cuda
@pytest.mark.skipif(not place.available() or place.DEVICE == "cpu", reason="no CUDA device; a dry run fills no card")
@pytest.mark.parametrize("check", memory.CHECKS, ids=lambda check: check.__name__)
def test_memory(check):
    check()
