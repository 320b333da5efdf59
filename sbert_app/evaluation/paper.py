"""Figures published in the paper (Reimers & Gurevych 2019, arXiv 1908.10084), shown beside measured ones."""

SOURCE = "Reimers & Gurevych 2019"

# Section 1: the most similar pair among 10,000 sentences, on a V100.
CLOSEST_PAIR_SENTENCES = 10_000
CLOSEST_PAIR_SECONDS = {"cross-encoder": 65 * 3600.0, "sbert": 5.0}
CLOSEST_PAIR_COSINES = 0.01  # seconds of SBERT's all-pairs step, after encoding
CLOSEST_PAIR_HARDWARE = "V100"

# Table 7: sentences a second, (i7-5820K CPU, V100).
TABLE_7: dict[str, tuple[float | None, float | None]] = {
    "Average GloVe embeddings": (6469, None),
    "InferSent": (137, 1876),
    "Universal Sentence Encoder": (67, 1318),
    "SBERT-base": (44, 1378),
    "SBERT-base, smart batching": (83, 2042),
}

# Table 2: STSb test, Spearman x 100, trained on STSb.
STSB_CROSS_ENCODER, STSB_SBERT = 84.30, 84.67
# Table 2: the same after NLI.
NLI_STSB_CROSS_ENCODER, NLI_STSB_SBERT = 88.33, 85.35
