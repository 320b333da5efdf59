"""A tokenizer of whole words, for word vectors from a file."""

from collections.abc import Sequence
from typing import Any

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def word_tokenizer(words: Sequence[str], max_length: int) -> Any:
    """Lower-cased words and punctuation marks by their rows after SPECIAL; a word that is not listed is [UNK]."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordLevel
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
        tokenizer_object=tokenizer, pad_token=pad, unk_token=unknown, cls_token=start, sep_token=end, model_max_length=max_length
    )
