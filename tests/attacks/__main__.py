"""`python -m tests.attacks [--seconds N] [--times N] NAME …`: attack the app, print figures; status 1 where a goal is missed.

Without a name: all, in 65 minutes at most. Each ends within its time below, or N seconds, and the step that it is in; SIGINT or
SIGTERM ends it sooner: either way with its verdict so far.
"""

import argparse
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from tests.attacks import bound

# Each a module beside this one, whose `main` gets a folder and tells whether the goals are reached; the seconds that it may take.
ATTACKS = {
    "files": 600,
    "loading": 300,
    "damage": 600,
    "damaged_collection": 600,
    "kills": 600,
    "bulk_kills": 600,
    "load": 300,
    "visits": 300,
    "spaces": 300,
    "two_instances": 300,
    "copies": 300,
}
COUNTED = ("loading", "damaged_collection", "kills", "bulk_kills", "visits", "two_instances")  # these take `times`


def main(arguments: list[str]) -> int:
    """The exit status of these attacks: 1 where one of them missed its goals."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks")
    parser.add_argument("--seconds", type=float, help="instead of each attack's own bound")
    parser.add_argument("--times", type=int, help=f"loads, kills, visits or cases of {', '.join(COUNTED)}")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ATTACKS)}")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.names) - set(ATTACKS):
        parser.error(f"Unknown: {', '.join(sorted(unknown))}. Must be of {', '.join(ATTACKS)}.")
    held = []
    for name in asked.names or ATTACKS:
        if bound.interrupted():
            break
        start, seconds = time.monotonic(), asked.seconds or ATTACKS[name]
        print(f"\n== {name}, at most {seconds:.0f} s", flush=True)
        bound.begin(seconds)
        times = [asked.times] if asked.times and name in COUNTED else []
        with tempfile.TemporaryDirectory(prefix=f"{name}-", ignore_cleanup_errors=True) as folder:
            held.append(import_module(f"tests.attacks.{name}").main(Path(folder), *times))
        print(f"== {name}: {'held' if held[-1] else 'GOALS MISSED'}, {time.monotonic() - start:.0f} s", flush=True)
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
