"""`python -m sbert_app COMMAND`."""

import sys

from sbert_app.errors import UserError
from sbert_app.homes import prepare
from sbert_app.settings import settings_from_environment

try:
    prepare(settings_from_environment())
except UserError as mistake:
    sys.stderr.write(f"Error: {mistake}\n")
    sys.exit(2)

from sbert_app.cli import main  # libraries look for their folders when they are imported

sys.exit(main())
