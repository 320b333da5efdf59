"""Word vectors and a BiLSTM over them, in the shape of a transformer: token ids in, one vector a token out.

Importing this module makes the network known to transformers, so that `AutoModel` loads its folders as it loads any other.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from sbert_app.models.files.layout import WORDS


class WordConfig(PreTrainedConfig):  # type: ignore[misc]
    """units: of the LSTM in each direction, 0 for none; frozen: the word vectors stay as they are in training."""

    model_type = WORDS

    def __init__(self, vocab_size: int = 1, word_size: int = 1, units: int = 0, frozen: bool = True, **others: Any) -> None:
        self.vocab_size, self.word_size, self.units, self.frozen = vocab_size, word_size, units, frozen
        self.hidden_size = 2 * units or word_size
        super().__init__(**others)


class WordNetwork(PreTrainedModel):  # type: ignore[misc]
    """Always computes in fp32: a processor without bf16 instructions has no LSTM in bf16."""

    config_class = WordConfig
    only_fp32 = True
    _input_embed_layer = "embeddings"  # where transformers finds the word vectors

    def __init__(self, config: WordConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.word_size, padding_idx=0)
        self.lstm = nn.LSTM(config.word_size, config.units, batch_first=True, bidirectional=True) if config.units else None
        self.post_init()

    def freeze(self) -> None:
        """Exclude the word vectors from training if the config says so; transformers' loading includes every weight."""
        self.embeddings.weight.requires_grad_(not self.config.frozen)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> BaseModelOutput:
        """(B, T) ids and 0/1 mask -> `last_hidden_state` (B, T, hidden_size). Padding at the end changes no other vector."""
        with torch.autocast(input_ids.device.type, enabled=False):
            vectors = self.embeddings(input_ids)
            return BaseModelOutput(last_hidden_state=self._read(vectors, attention_mask) if self.lstm else vectors)

    def _read(self, vectors: Tensor, attention_mask: Tensor) -> Tensor:
        """The hidden states of both directions; the backward one starts at each sentence's own last token."""
        lengths = attention_mask.sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        read, _ = self.lstm(packed)  # type: ignore[misc]
        states, _ = nn.utils.rnn.pad_packed_sequence(read, batch_first=True, total_length=vectors.shape[1])
        return states


AutoConfig.register(WORDS, WordConfig, exist_ok=True)
AutoModel.register(WordConfig, WordNetwork, exist_ok=True)
