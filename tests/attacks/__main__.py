"""`python -m tests.attacks NAME …`: attack the app, print figures; status 1 where a goal is missed. Without a name: all.

Numbers behind the name of one attack are handed to it: `python -m tests.attacks damaged_collection 2000 200`.
"""

import sys
from importlib import import_module

ATTACKS = (
    "files",
    "loading",
    "damage",
    "damaged_collection",
    "kills",
    "bulk_kills",
    "load",
    "visits",
    "spaces",
)  # each a module beside this one with `main() -> int`


def main(names: list[str]) -> int:
    """The worst exit status of these attacks."""
    numbers = [int(name) for name in names if name.isdecimal()]
    names = [name for name in names if not name.isdecimal()]
    if unknown := set(names) - set(ATTACKS):
        raise SystemExit(f"Unknown: {', '.join(sorted(unknown))}. Must be of {', '.join(ATTACKS)}.")
    return max([import_module(f"tests.attacks.{name}").main(*numbers) for name in names or ATTACKS])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
