"""Build the networks that the paper compares with, untrained: models of the registry whose names start with `new/`."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel
from torch import Tensor

from sbert_app.errors import UserError
from sbert_app.models.dense import Dense
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import Hardware
from sbert_app.models.files.finding import checked_bundled_folder
from sbert_app.models.files.layout import Layout, quoted
from sbert_app.models.files.listing import DESIGNS
from sbert_app.models.loading import LOADING, import_transformers, load_transformer
from sbert_app.models.words.vectors import read_all

SEED = 7
MAX_LENGTH = 256  # tokens, as of the bundled encoder
SPREAD = 0.4  # standard deviation of the numbers in a word vector, about that of GloVe's
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def untrained(name: str, hardware: Hardware, files: bool) -> Encoder:
    """Build the encoder of that name, always with the same weights. After a colon the name may give a file of word vectors.

    files: whether such a file is allowed. Raises UserError for an unknown name or a file that cannot be read.
    """
    known, _, path = name.partition(":")
    if known not in DESIGNS or (path and not files):
        raise UserError(f"Unknown model {quoted(name)}. Must be one of {', '.join(DESIGNS)}.")
    design = DESIGNS[known]
    tokenizer, vectors = _from_file(Path(path).expanduser()) if path else _bundled(hardware)
    generator = torch.Generator().manual_seed(SEED)
    sizes = design.dense and (vectors.shape[1], *design.dense)
    dense = [Dense(*pair) for pair in pairwise(sizes)]
    with LOADING:  # creating it changes torch's global state
        import_transformers()
        from sbert_app.models.words.network import WordConfig, WordNetwork

        network = WordNetwork(WordConfig(len(vectors), vectors.shape[1], design.units, design.frozen))
    network.embeddings.weight.data.copy_(vectors)
    for module in [*dense, *filter(None, [network.lstm])]:
        for parameter in module.parameters():  # drawn from the generator: torch's own would depend on what other threads draw
            bound = parameter.shape[-1] ** -0.5
            parameter.data.uniform_(-bound, bound, generator=generator)
    note = f"Not trained yet: {design.about}. Its weights are random: train it on the Fine-tune tab."
    folders = tuple(f"{number}_Dense" for number, _ in enumerate(dense, 2))
    layout = Layout(design.pooling, max_length=MAX_LENGTH, note=note, dense=folders)
    return Encoder(name, network.eval().to(hardware.device), tokenizer, layout, hardware, dense)


def _bundled(hardware: Hardware) -> tuple[Any, Tensor]:
    """Tokenizer and input word vectors of the bundled encoder; each dimension is centred and scaled to SPREAD."""
    model, tokenizer = load_transformer(checked_bundled_folder(), replace(hardware, dtype=torch.float32))
    vectors = model.get_input_embeddings().weight.detach().float().cpu()
    vectors = SPREAD * (vectors - vectors.mean(0)) / vectors.std(0)
    vectors[tokenizer.all_special_ids] = 0  # special tokens are no words
    return tokenizer, vectors


def _from_file(path: Path) -> tuple[Any, Tensor]:
    """A tokenizer of whole words and their vectors, from a GloVe file."""
    words, vectors = read_all(path)
    with LOADING:
        tokenizer = _word_tokenizer(words)
    return tokenizer, torch.cat([torch.zeros(len(SPECIAL), vectors.shape[1]), torch.from_numpy(vectors)])


def _word_tokenizer(words: Sequence[str]) -> Any:
    """Lower-cased words and punctuation marks by their rows after SPECIAL; a word that is not listed is [UNK]."""
    from transformers import PreTrainedTokenizerFast

    pad, unknown, start, end = SPECIAL
    rows = {word: row for row, word in enumerate([*SPECIAL, *words])}
    tokenizer = Tokenizer(WordLevel(rows, unk_token=unknown))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(token, rows[token]) for token in (start, end)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=pad, unk_token=unknown, cls_token=start, sep_token=end, model_max_length=MAX_LENGTH
    )
