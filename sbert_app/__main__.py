"""`python -m sbert_app COMMAND`."""

import sys

from sbert_app.cli import main

sys.exit(main())
