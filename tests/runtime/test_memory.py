"""What a job has freed goes back to the system."""

import ctypes
import subprocess
import sys

import pytest

# Blocks below the size that malloc maps one by one; the last one keeps the heap from shrinking by itself.
FREE = """
import ctypes, psutil
from sbert_app.runtime.memory import give_back
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
resident = lambda: psutil.Process().memory_info().rss
blocks = [libc.malloc(50_000) for _ in range(4_000)]
for block in blocks:
    ctypes.memset(block, 1, 50_000)
last = libc.malloc(50_000)
for block in blocks:
    libc.free(block)
before = resident()
give_back()
print((before - resident()) // 2**20)
"""


def test_freed_memory_goes_back_to_the_system():
    try:
        _ = ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        pytest.skip("not glibc")
    out = subprocess.run([sys.executable, "-c", FREE], capture_output=True, text=True, timeout=60, check=True)
    assert int(out.stdout) > 150  # of 190 MB
