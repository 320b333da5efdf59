"""Run the command line: `python -m sbert_app COMMAND`."""

import sys

from sbert_app.errors import UserError
from sbert_app.homes import prepare
from sbert_app.settings import settings_from_environment

try:
    prepare(settings_from_environment())
except UserError as error:
    sys.stderr.write(f"Error: {error}\n")
    sys.exit(2)

from sbert_app.cli.main import main  # imported after `prepare`: libraries choose their folders at import

sys.exit(main())
