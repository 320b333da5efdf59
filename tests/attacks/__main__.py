"""`python -m tests.attacks [--seconds N] NAME …`: attack the app, print figures; status 1 where a goal is missed.

Without a name: all, in 65 minutes at most. Each ends within its time below, or N seconds, and the step that it is in; SIGINT or
SIGTERM ends it sooner: either way with its verdict so far.
"""

import argparse
import sys
import time
from importlib import import_module

from tests.attacks import bound

ATTACKS = {  # each a module beside this one with `main() -> int`, and the seconds that it may take
    "files": 600,
    "loading": 300,
    "damage": 600,
    "damaged_collection": 600,
    "kills": 600,
    "bulk_kills": 600,
    "load": 300,
    "uploads": 300,
    "visits": 300,
    "spaces": 300,
    "two_instances": 300,
    "copies": 300,
}


def main(arguments: list[str]) -> int:
    """The worst exit status of these attacks."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks")
    parser.add_argument("--seconds", type=float, help="instead of each attack's own bound")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ATTACKS)}")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - set(ATTACKS):
        parser.error(f"Unknown: {', '.join(sorted(unknown))}. Must be of {', '.join(ATTACKS)}.")
    verdicts: dict[str, int] = {}
    for name in asked.names or ATTACKS:
        if bound.interrupted():
            break
        start, seconds = time.monotonic(), asked.seconds or ATTACKS[name]
        print(f"\n== {name}, at most {seconds:.0f} s", flush=True)
        bound.begin(seconds)
        verdicts[name] = import_module(f"tests.attacks.{name}").main()
        print(f"== {name}: {'GOALS MISSED' if verdicts[name] else 'held'}, {time.monotonic() - start:.0f} s", flush=True)
    return max(verdicts.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
