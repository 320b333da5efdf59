"""SBERT Studio: see, use and tune sentence embeddings (Sentence-BERT, Reimers & Gurevych 2019)."""

__version__ = "0.1.0"
