"""Encoders over word vectors that the paper compares with: InferSent's BiLSTM and the deep averaging network."""
