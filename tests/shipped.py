"""Embed the sentences that come with the app, so that its first page need not: `make shipped` writes assets/embeddings anew."""

import shutil
from pathlib import Path

from sbert_app.corpus.cache import SHIPPED, EmbeddingCache
from sbert_app.corpus.reader import guess_column, read_corpus
from sbert_app.explain.scale import reference_pairs
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import checked_bundled_folder
from sbert_app.runtime.examples import FOLDER
from sbert_app.settings import Limits
from sbert_app.tables import read_table


def shipped_sentences() -> list[str]:
    """The sentences of the examples and of the reference pairs, each once, in alphabetical order."""
    limits = Limits()
    tables = [read_table(path, limits) for path in FOLDER.glob("*.csv")]
    corpora = [read_corpus(table, [guess_column(table.frame)], limits).sentences for table in tables]
    pairs = [sentence for kind in reference_pairs(limits) for pair in kind for sentence in pair]
    return sorted({*pairs, *(sentence for corpus in corpora for sentence in corpus)})


def shipping_encoder() -> Encoder:
    """The encoder that comes with the app, in fp32."""
    return Encoder.from_folder(checked_bundled_folder(), choose_hardware("cpu", "fp32"))


def main(folder: Path = SHIPPED) -> None:
    sentences, encoder = shipped_sentences(), shipping_encoder()
    shutil.rmtree(folder, ignore_errors=True)
    EmbeddingCache(folder).add(encoder.fingerprint, sentences, encoder.encode(sentences))


if __name__ == "__main__":
    main()
