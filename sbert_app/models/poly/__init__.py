"""The poly-encoder: between the encoder, which reads sentences apart, and the cross-encoder, which reads them together."""
