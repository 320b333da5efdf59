"""Labelled pairs of sentences: their columns, labels and scores, and those to train on."""
