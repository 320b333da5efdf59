"""The card of a model folder, README.md, which the Hub shows and from which it is read what a cross-encoder was trained for."""

import json
from pathlib import Path

SAVED_HERE = "Saved by SBERT Studio."
CARD = """---
{library}pipeline_tag: sentence-similarity
tags: [{tag}sentence-similarity]
---

# {title}

{saved}

| | |
| --- | --- |
{rows}

{usage}
"""
USAGE = """```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
embeddings = model.encode(["a sentence", "another one"])
```"""
OWN_USAGE = """An encoder over word vectors: only SBERT Studio opens this folder, sentence-transformers has no module for it.

```
python -m sbert_app encode sentences.txt --model path/to/this/folder --out embeddings.npy
```"""
CROSS_USAGE = """```python
from sentence_transformers import CrossEncoder

model = CrossEncoder("path/to/this/folder")
scores = model.predict([("a sentence", "another one")])
```"""
POLY_USAGE = """
That reads the sentences apart and leaves out the codes. For the poly-encoder's scores of pairs, in SBERT Studio:

```
python -m sbert_app similarity "a sentence" "another one" --cross-encoder path/to/this/folder
python -m sbert_app evaluate pairs.tsv --systems path/to/this/folder
```
"""


def write_card(folder: Path, title: str, facts: dict[str, str], own: bool = False, cross_of: str = "") -> None:
    """Write the card, README.md, which the Hub shows. own: only this app opens the folder, so it must not name another library.

    cross_of: of a cross-encoder, the one that it was trained from, which may tell for what.
    """
    rows = "\n".join(f"| {name} | {' '.join(value.split()).replace('|', '&#124;')} |" for name, value in facts.items() if value)
    library, tag = ("", "") if own else ("library_name: sentence-transformers\n", "sentence-transformers, ")
    usage = OWN_USAGE if own else USAGE
    if cross_of:
        library, tag, usage = f"{library}base_model: {json.dumps(cross_of)}\n", f"{tag}cross-encoder, ", CROSS_USAGE
    card = CARD.format(library=library, tag=tag, title=title, saved=SAVED_HERE, rows=rows, usage=usage)
    (folder / "README.md").write_text(card, encoding="utf-8")
