"""`python -m tests.attacks files`: attack the app, print the figures, fail where a goal is missed."""

import sys
from importlib import import_module

ATTACKS = ("files",)  # each a module beside this one with `report() -> bool`: whether its goals were reached


def main(names: list[str]) -> int:
    unknown = set(names) - set(ATTACKS)
    if unknown:
        raise SystemExit(f"Unknown: {', '.join(unknown)}. Must be of {', '.join(ATTACKS)}.")
    reached = [import_module(f"tests.attacks.{name}").report() for name in names or ATTACKS]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
