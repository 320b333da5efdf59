"""The command line: `python -m sbert_app COMMAND`. Results on stdout, progress on stderr."""

import sys
from typing import Any

import typer

from sbert_app.cli.command import add_command
from sbert_app.cli.index import add_index
from sbert_app.errors import UserError
from sbert_app.jobs import JOBS

UsageError: Any = typer.BadParameter.__base__  # typer exports the subclass only

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
for job in JOBS:
    if job.command:
        add_command(job, app)
add_index(app)


def main() -> int:
    """Run the command line; the exit status. A user's mistake prints one line on stderr and returns 2, without a traceback."""
    try:
        status = app(standalone_mode=False)
    except (UserError, UsageError) as error:
        message = str(error) if isinstance(error, UserError) else f"{error.format_message() or 'No command given.'} Try --help."
        sys.stderr.write(f"Error: {message}\n")
        return 2
    except typer.Abort:
        return 130
    return status if isinstance(status, int) else 0  # of typer.Exit
