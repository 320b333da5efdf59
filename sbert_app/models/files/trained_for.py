"""What a cross-encoder was trained for: to say how alike two sentences are, or how well a passage answers a query.

A model of the first kind makes search worse as a re-ranker, one of the second kind is a poor judge of likeness. No file of a model
says which it is, so it is read from the evidence in EVIDENCE. Torch is not needed.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sbert_app.models.files.card import SAVED_HERE
from sbert_app.models.files.layout import POLY, read_config

LIKENESS, ANSWERS, UNKNOWN = "likeness", "answers", ""
SAID = {  # by a score
    ANSWERS: "It says how well one text answers the other, not how alike they are",
    LIKENESS: "It says how alike the two are",
    UNKNOWN: "Neither its name nor its card says what its score means",
}
CARD = "README.md"
CARD_CHARACTERS = 100_000  # of a card that are read

_WORDS = "(?<![a-z0-9])(?:{})(?![a-z])"  # whole ones, but for numbers at their end
_OF_ANSWERS = "qnli|natural[-_ ]?questions|nq|gooaq|squad|trivia[-_ ]?qa|hotpot[-_ ]?qa|trec|wiki[-_ ]?qa|miracl|mr[-_. ]?tydi|eli5"
_OF_LIKENESS = "sts|stsb|sts[-_ ]?b|stsbenchmark|sick|quora|qqp|paws|mrpc|twitterpara|(?!q)[a-z]{0,5}nli"
DATA = {  # names of data sets, in a card or in a model's name
    ANSWERS: re.compile("ms[-_ ]?marco|mmarco|" + _WORDS.format(_OF_ANSWERS)),
    LIKENESS: re.compile(_WORDS.format(_OF_LIKENESS)),
}
TASKS = {  # tasks, in a model's name or in the tags of its card
    ANSWERS: re.compile(r"re-?rank|text-ranking|passage-ranking|passage-retrieval|question-answer"),
    LIKENESS: re.compile(r"similarity|paraphras|duplicate|entailment|natural-language-inference"),
}
MEASURED = {ANSWERS: re.compile(r"cross-encoder-reranking"), LIKENESS: re.compile(r"cross-encoder-correlation")}
# Where it is read, and what speaks for which kind: the first line that speaks for one kind alone decides.
EVIDENCE = (
    ("datasets", DATA),  # of the card
    ("name", DATA),  # the last part of the model's name
    ("name", TASKS),
    ("trained", DATA),  # in the card's text, what follows "trained"
    ("model-index", MEASURED),  # of the card: how sentence-transformers measured it
    ("labels", {LIKENESS: re.compile(r"entail|contradict")}),  # of config.json
    ("base_model", DATA),  # the model that training began with, by card or config.json
    ("tags", TASKS),  # of the card, with its pipeline_tag
    ("text", {LIKENESS: re.compile(re.escape(SAVED_HERE.lower()))}),  # of the card: this app trains on pairs and triplets
)
# sentence-transformers gives these to every cross-encoder with one label, whatever it was trained for, beside the first.
OF_EVERY = "cross-encoder", re.compile(r"\breranker\b|\btext-ranking\b")
KEY = re.compile(r"^([\w-]+):(.*)$")
TRAINED = re.compile(r"(?:trained|tuned)\b((?:(?!\. )[^\n]){0,400})")  # to the end of the sentence
Bounds = tuple[float, float]  # the lowest and the highest score
SHARE: Bounds = (0.0, 1.0)
COSINE: Bounds = (-1.0, 1.0)


def trained_for(name: str, config: Mapping[str, Any], card: str = "") -> str:
    """LIKENESS, ANSWERS, or UNKNOWN without clear evidence. name: may be a path; config, card: of config.json and README.md."""
    front, text = _front_matter(card)
    tags = f"{front.get('tags', '')} {front.get('pipeline_tag', '')}"
    always, idle = OF_EVERY
    sources = {
        "datasets": front.get("datasets", ""),
        "name": re.split(r"[/\\]", name.rstrip("/\\"))[-1],
        "trained": " ".join(TRAINED.findall(text.lower())),
        "labels": " ".join(label_names(config)),
        "base_model": f"{front.get('base_model', '')} {config.get('_name_or_path') or ''}",
        "model-index": front.get("model-index", ""),
        "tags": idle.sub("", tags) if always in re.split(r"[\s,\[\]\"']+", tags) else tags,
        "text": text,
    }
    for source, patterns in EVIDENCE:
        kinds = [kind for kind, pattern in patterns.items() if pattern.search(sources[source].lower())]
        if len(kinds) == 1:
            return kinds[0]
    return UNKNOWN


def purpose(folder: Path, name: str, kind: str) -> str:
    """`trained_for` of the cross-encoder or poly-encoder in a folder; UNKNOWN for an encoder."""
    return trained_for(name, read_config(folder, name), read_card(folder)) if kind in ("cross-encoder", POLY) else UNKNOWN


def read_card(folder: Path) -> str:
    """The model card of a folder, "" if there is none that can be read."""
    path = folder / CARD
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(CARD_CHARACTERS)
    except OSError:
        return ""


def label_count(config: Mapping[str, Any]) -> int:
    """The number of outputs of a sequence classifier; two where config.json names none, as in transformers."""
    labels, count = config.get("id2label"), config.get("num_labels")
    if isinstance(labels, dict) and labels:
        return len(labels)
    return count if isinstance(count, int) and count > 0 else 2


def label_names(config: Mapping[str, Any]) -> list[str]:
    """The names of the labels in config.json, [] where they are only numbered."""
    labels = config.get("id2label")
    names = [str(label) for label in labels.values()] if isinstance(labels, dict) else []
    return [] if all(re.fullmatch(r"(?i)(label_)?\d*", label) for label in names) else names


def in_words(kind: str) -> str:
    """Such as "trained for likeness", to show beside a model's name."""
    return f"trained for {kind}" if kind else "trained for an unknown task"


def _front_matter(card: str) -> tuple[dict[str, str], str]:
    """The values of the block between the lines "---" at the head of a card, lists as text, and the text after it."""
    lines = card.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---" or "---" not in (rest := [line.strip() for line in lines[1:]]):
        return {}, card
    end, key = 1 + rest.index("---"), ""
    values: dict[str, list[str]] = {key: []}
    for line in lines[1:end]:
        if match := KEY.match(line):
            key, values[match[1]] = match[1], [match[2]]
        else:
            values[key].append(line)
    return {key: " ".join(parts) for key, parts in values.items()}, "\n".join(lines[end + 1 :])


def how_to_read(trained_for: str, bounds: Bounds | None) -> str:
    """What a score says, in one sentence or two."""
    if bounds is None:
        scale = "a logit without a fixed range, to be compared only with other scores of this model; higher is closer"
    elif trained_for == LIKENESS and bounds == SHARE:
        scale = "0 is unrelated, 1 the same"
    else:
        scale = f"from {bounds[0]:g} to {bounds[1]:g}, higher is closer"
    return f"{SAID[trained_for]}: {scale}."
