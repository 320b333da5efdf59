"""The model card, README.md of a saved folder: what the Hub shows, and how to use the model."""

from pathlib import Path

SAVED_HERE = "Saved by SBERT Studio."
CARD = """---
{about}
---

# {title}

{saved}

| | |
| --- | --- |
{rows}

{usage}
"""
ABOUT = """library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, sentence-similarity]"""
USAGE = """```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
embeddings = model.encode(["a sentence", "another one"])
```"""
OWN_ABOUT = """pipeline_tag: sentence-similarity
tags: [sentence-similarity]"""
OWN_USAGE = """An encoder over word vectors: only SBERT Studio opens this folder, sentence-transformers has no module for it.

```
python -m sbert_app encode sentences.txt --model path/to/this/folder --out embeddings.npy
```"""

POLY_USAGE = """
That reads the sentences apart and leaves out the codes. For the poly-encoder's scores of pairs, in SBERT Studio:

```
python -m sbert_app similarity "a sentence" "another one" --cross-encoder path/to/this/folder
python -m sbert_app evaluate pairs.tsv --systems path/to/this/folder
```
"""


def write_card(folder: Path, title: str, facts: dict[str, str], own: bool = False) -> None:
    """Write the card. own: only this app opens the folder, so the card must not name another library."""
    rows = "\n".join(f"| {name} | {' '.join(value.split()).replace('|', '&#124;')} |" for name, value in facts.items())
    about, usage = (OWN_ABOUT, OWN_USAGE) if own else (ABOUT, USAGE)
    card = CARD.format(about=about, title=title, saved=SAVED_HERE, rows=rows, usage=usage)
    (folder / "README.md").write_text(card, encoding="utf-8")
