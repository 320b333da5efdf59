"""The Fine-tune tab: train on labelled pairs and compare before and after."""
