"""The checks as tests: skipped where there is no GPU, a dry run with SBERT_CUDA_CHECKS_DEVICE=cpu."""

import pytest

from tests.cuda import checks, memory, place

pytestmark = [pytest.mark.cuda, pytest.mark.skipif(not place.available(), reason="no CUDA device")]


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
def test_the_gpu_computes_what_the_cpu_does(check):
    check()


@pytest.mark.skipif(place.DEVICE == "cpu", reason="a dry run fills no card")
@pytest.mark.parametrize("check", memory.CHECKS, ids=lambda check: check.__name__)
def test_memory(check):
    check()
