"""docs/security.md proves what it says: each test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_each_proof_is_a_test():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "security.md").read_text(encoding="utf-8")))
    files = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 20 and named - set(re.findall(r"^def (test_\w+)", files, re.M)) == set()
