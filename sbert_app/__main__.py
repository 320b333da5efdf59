"""Run the command line: `python -m sbert_app COMMAND`."""

import atexit
import gc
import sys

from sbert_app.environment import settings_from_environment
from sbert_app.errors import UserError
from sbert_app.homes import prepare

try:
    gc.set_threshold(20_000)  # imports make no garbage: looking for it took a tenth of a command's start,
    atexit.register(gc.freeze)  # and once more at its end
    prepare(settings_from_environment())
except UserError as error:
    sys.stderr.write(f"Error: {error}\n")
    sys.exit(2)

from sbert_app.cli.main import main  # imported after `prepare`: libraries choose their folders at import

sys.exit(main())
