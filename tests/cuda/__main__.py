"""`python -m tests.cuda`: run the checks without pytest, print their figures. SBERT_CUDA_CHECKS_DEVICE=cpu: a dry run."""

import sys
import time
import traceback

from tests.cuda import checks, memory, place


def main() -> int:
    if not place.available():
        print("No CUDA device here. SBERT_CUDA_CHECKS_DEVICE=cpu runs what needs none.")
        return 0
    failed = 0
    for check in checks.CHECKS + (memory.CHECKS if place.DEVICE == "cuda" else ()):
        start = time.perf_counter()
        try:
            figures = ", ".join(f"{name} {value:.3g}" for name, value in check().items())
        except Exception:
            failed += 1
            figures = f"FAILED\n{traceback.format_exc()}"
        print(f"{check.__name__} ({time.perf_counter() - start:.1f} s): {figures}", flush=True)
    return int(failed > 0)


sys.exit(main())
