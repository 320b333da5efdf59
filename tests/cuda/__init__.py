"""Checks on a GPU: torch, transformers, numpy, safetensors and the weights carried along are all they need."""
