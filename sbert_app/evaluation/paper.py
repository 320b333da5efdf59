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

# fmt: off
# Table 1: Spearman x 100 without training on STS, over all pairs of a set together.
TABLE_1 = {
    "Avg. GloVe": {"STS12": 55.14, "STS13": 70.66, "STS14": 59.73, "STS15": 68.25, "STS16": 63.66, "STSb": 58.02, "SICK-R": 53.76},
    "Avg. BERT": {"STS12": 38.78, "STS13": 57.98, "STS14": 57.98, "STS15": 63.15, "STS16": 61.06, "STSb": 46.35, "SICK-R": 58.40},
    "BERT CLS-vector": {
        "STS12": 20.16,
        "STS13": 30.01,
        "STS14": 20.09,
        "STS15": 36.88,
        "STS16": 38.08,
        "STSb": 16.50,
        "SICK-R": 42.63,
    },
    "InferSent": {"STS12": 52.86, "STS13": 66.75, "STS14": 62.15, "STS15": 72.77, "STS16": 66.87, "STSb": 68.03, "SICK-R": 65.65},
    "USE": {"STS12": 64.49, "STS13": 67.80, "STS14": 64.61, "STS15": 76.83, "STS16": 73.18, "STSb": 74.92, "SICK-R": 76.69},
    "SBERT-NLI-base": {
        "STS12": 70.97,
        "STS13": 76.53,
        "STS14": 73.19,
        "STS15": 79.09,
        "STS16": 74.30,
        "STSb": 77.03,
        "SICK-R": 72.91,
    },
}
# Table 5: accuracy x 100 of a linear classifier on the embeddings.
TABLE_5 = {
    "Avg. GloVe": {"MR": 77.25, "CR": 78.30, "SUBJ": 91.17, "MPQA": 87.85, "SST": 80.18, "TREC": 83.0, "MRPC": 72.87},
    "Avg. BERT": {"MR": 78.66, "CR": 86.25, "SUBJ": 94.37, "MPQA": 88.66, "SST": 84.40, "TREC": 92.8, "MRPC": 69.45},
    "BERT CLS-vector": {"MR": 78.68, "CR": 84.85, "SUBJ": 94.21, "MPQA": 88.23, "SST": 84.13, "TREC": 91.4, "MRPC": 71.13},
    "InferSent": {"MR": 81.57, "CR": 86.54, "SUBJ": 92.50, "MPQA": 90.38, "SST": 84.18, "TREC": 88.2, "MRPC": 75.77},
    "USE": {"MR": 80.09, "CR": 85.19, "SUBJ": 93.98, "MPQA": 86.70, "SST": 86.38, "TREC": 93.2, "MRPC": 70.14},
    "SBERT-NLI-base": {"MR": 83.64, "CR": 89.43, "SUBJ": 94.39, "MPQA": 89.86, "SST": 88.96, "TREC": 89.6, "MRPC": 76.00},
}
# fmt: on
