"""Texts cut into passages: whole sentences, no more tokens than the model reads, nothing left out."""

from dataclasses import replace

import pytest

from sbert_app.corpus.ranking.lexical import sentence_spans
from sbert_app.models.encoder import Encoder
from sbert_app.models.tokens import JOINED_TOKENS, LONGEST_SENTENCE, passage_spans

LONG = " ".join(f"Sentence {number} tells that the train to stop {number * 7} is late." for number in range(120))
TEXTS = {
    "sentences": LONG,
    "one sentence": "word " * 900,
    "a long word": "a short beginning. " * 80 + "x" * 3_000,
    "Chinese": "我们今天去公园散步。" * 120,
    "Chinese without marks": "我们今天去公园散步" * 200,
    "quotes, blanks, emoji": '  "Late again 😀!"  he said.\n\n\t' * 90,
    "Turkish": "İstanbul'da İyi bir gün. " * 120,
}


CHANGES = {
    "plain": {},
    "lower-casing": {"lower_case": True},
    "prompted": {"prompts": {"document": "passage: this is a text of our corpus: "}},
}


def changed(encoder, kind):
    """The encoder with another layout."""
    layout = replace(encoder.layout, **CHANGES[kind])
    return Encoder(kind, encoder.transformer, encoder.tokenizer, layout, encoder.hardware)


def spans_of(encoder, text):
    return passage_spans(encoder, [text]).get(0, [])


def test_only_texts_longer_than_the_model_reads_are_cut_and_a_prompt_leaves_less_room(encoder):
    texts = ["short", "word " * 400, "x" * 260, "a b " * 140, "word " * 254, "word " * 255, ""]
    assert list(passage_spans(encoder, texts)) == [1, 3, 5]  # one long word is one [UNK] token; 254 words and two marks fit
    assert spans_of(changed(encoder, "prompted"), "word " * 250)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("name", TEXTS)
def test_the_model_reads_each_passage_whole_and_together_they_are_the_text(encoder, name, kind):
    encoder, text = changed(encoder, kind), TEXTS[name]
    spans = spans_of(encoder, text)
    passages = [text[start:end] for start, end in spans]
    prompt = encoder.document_prompt
    assert len(spans) > 1 and not any(encoding.overflowing for encoding in encoder.encodings(passages, prompt))
    gaps = [text[end:start] for (_, end), (start, _) in zip([(0, 0), *spans], [*spans, (len(text), 0)], strict=True)]
    assert all(not gap.strip(' \n\t"') for gap in gaps)


def test_passages_are_of_whole_sentences_and_filled(encoder):
    spans, sentences = spans_of(encoder, LONG), sentence_spans(LONG)
    assert {start for start, _ in spans} <= {start for start, _ in sentences}
    assert {end for _, end in spans} <= {end for _, end in sentences}
    lengths = [len(encoding.ids) for encoding in encoder.encodings([LONG[start:end] for start, end in spans])]
    assert min(lengths[:-1]) > JOINED_TOKENS - 20 and max(lengths) <= JOINED_TOKENS + 2  # a sentence has about 15
    whole = "a sentence of fifty tokens " + "and more " * 22 + "."
    text = f"{whole} " * 9
    assert {text[start:end] for start, end in spans_of(encoder, text)} == {whole}


def test_a_long_sentence_is_cut_between_words_or_characters(encoder):
    def parts(text):
        return [text[start:end] for start, end in spans_of(encoder, text)]

    assert {word for part in parts("running uncommonly " * 300) for word in part.split()} == {"running", "uncommonly"}
    assert {len(part.split()) for part in parts(TEXTS["one sentence"])[:-1]} == {LONGEST_SENTENCE}
    assert "".join(parts(TEXTS["Chinese without marks"])) == TEXTS["Chinese without marks"]
