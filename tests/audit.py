"""Known weaknesses of the pinned packages: `make audit`. Says which packages could not be looked up; status 1 where one is weak."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILES = ("requirements.txt", "requirements-scale.txt", "requirements-dev.txt")


def audited(tool: str, file: Path) -> list[dict[str, Any]]:
    """What pip-audit finds of each package of a file; nothing where it cannot reach its database."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--disable-pip", "--no-deps", "--progress-spinner", "off", "-f", "json", "-o", report]
        own = Path(folder) / "pins.txt"  # without the lines that refer to other files
        own.write_text("\n".join(line for line in file.read_text(encoding="utf-8").splitlines() if "==" in line))
        done = subprocess.run([tool, *options, "-r", own], capture_output=True, text=True)
        if not report.exists():
            print(f"{file.name}: not audited: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
            return []
        return json.loads(report.read_text(encoding="utf-8"))["dependencies"]


def told(file: str, packages: list[dict[str, Any]]) -> list[str]:
    """The weaknesses, one line each, and how many packages were looked up and how many could not be."""
    known = [package for package in packages if "skip_reason" not in package]
    lines = [
        f"{package['name']} {package['version']}: {weakness['id']}, mended in {', '.join(weakness['fix_versions']) or 'no version'}"
        for package in known
        for weakness in package["vulns"]
    ]
    unknown = len(packages) - len(known)
    hint = ": the database of advisories cannot be reached from here, or does not know them" if unknown else ""
    return [*lines, f"{file}: {len(known)} packages looked up, {len(lines)} weaknesses; {unknown} not looked up{hint}."]


def main(tool: str) -> int:
    """Audit each file of pins; 1 where there is a weakness."""
    lines = {file: told(file, audited(tool, ROOT / file)) for file in FILES}
    print("\n".join(line for each in lines.values() for line in each))
    return int(any(len(each) > 1 for each in lines.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
