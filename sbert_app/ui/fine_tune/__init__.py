"""The Fine-tune tab: train on labelled pairs, compare before and after."""
