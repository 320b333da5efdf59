"""Embed what comes with the app: `make shipped` writes assets/embeddings and assets/words.npz.

The sentences of the app, so that its first page need not encode them; frequent words, by which a file is searched at once.
"""

import shutil
from itertools import islice
from pathlib import Path

import numpy as np

from sbert_app.corpus.cache import SHIPPED, EmbeddingCache
from sbert_app.corpus.growing import SHIPPED_WORDS
from sbert_app.corpus.ranking.lexical import WORD
from sbert_app.corpus.reader import read_corpus
from sbert_app.corpus.text_column import guess_column
from sbert_app.explain.scale import reference_pairs
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import checked_bundled_folder
from sbert_app.runtime.examples import FOLDER
from sbert_app.settings import Limits
from sbert_app.tables import read_table

MOST_WORDS = 12_000  # 4.1 MB; of the words of a corpus of everyday English that have a vector four fifths are among them


def shipped_sentences() -> list[str]:
    """The sentences of the examples and of the reference pairs, each once, in alphabetical order."""
    limits = Limits()
    tables = [read_table(path, limits) for path in FOLDER.glob("*.csv")]
    corpora = [read_corpus(table, [guess_column(table.frame)], limits).sentences for table in tables]
    pairs = [sentence for kind in reference_pairs(limits) for pair in kind for sentence in pair]
    return sorted({*pairs, *(sentence for corpus in corpora for sentence in corpus)})


def shipped_words(encoder: Encoder) -> list[str]:
    """The whole words at the beginning of the vocabulary, which is in the order of their frequency."""
    vocabulary = encoder.tokenizer.backend_tokenizer.get_vocab()
    words = (word for word in sorted(vocabulary, key=vocabulary.__getitem__) if word.isascii() and WORD.fullmatch(word))
    return list(islice(words, MOST_WORDS))


def main(folder: Path = SHIPPED) -> None:
    sentences, encoder = shipped_sentences(), Encoder.from_folder(checked_bundled_folder(), choose_hardware("cpu", "fp32"))
    shutil.rmtree(folder, ignore_errors=True)
    EmbeddingCache(folder).add(encoder.fingerprint, sentences, encoder.encode(sentences))
    vectors = encoder.encode(words := shipped_words(encoder))
    bytes_of = np.rint(127 * vectors / np.abs(vectors).max(axis=1, keepdims=True)).astype(np.int8)
    np.savez_compressed(SHIPPED_WORDS, words=np.array(words, dtype=bytes), vectors=bytes_of)


if __name__ == "__main__":
    main()
