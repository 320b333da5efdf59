"""`python -m tests.bulk.logged LOG ARGUMENTS…`: the command `index`, which logs each shard that it has written."""

import sys
import time
from pathlib import Path

from sbert_app.bulk.checkpoint import Shards
from sbert_app.cli.main import main

SECONDS_A_SHARD = 0.02  # as if the model were larger


def log_to(path: Path) -> None:
    """Log the key of every shard from now on, and make a file when the first sentence is encoded."""
    from sbert_app.models.encoder import Encoder

    write, stream = Shards.write, Encoder.stream

    def logged_write(self, key, embeddings):
        write(self, key, embeddings)
        with path.open("a") as log:
            log.write(f"{key}\n")

    def logged_stream(self, *values):
        path.with_name(f"{path.name}.begun").touch()
        time.sleep(SECONDS_A_SHARD)
        return stream(self, *values)

    Shards.write, Encoder.stream = logged_write, logged_stream


if __name__ == "__main__":
    log_to(Path(sys.argv.pop(1)))
    sys.argv.insert(1, "index")
    sys.exit(main())
