"""Figures published in the paper (Reimers & Gurevych 2019, arXiv 1908.10084), shown beside measured ones."""

SOURCE = "Reimers & Gurevych 2019"

# Section 1: the most similar pair among 10,000 sentences, on a V100.
CLOSEST_PAIR_SENTENCES = 10_000
CLOSEST_PAIR_SECONDS = {"cross-encoder": 65 * 3600.0, "sbert": 5.0}
CLOSEST_PAIR_COSINES = 0.01  # seconds of SBERT's all-pairs step, after encoding
CLOSEST_PAIR_HARDWARE = "V100"

TABLE_7: dict[str, tuple[float | None, float | None]] = {  # sentences a second, (i7-5820K CPU, V100)
    "Average GloVe embeddings": (6469, None),
    "InferSent": (137, 1876),
    "Universal Sentence Encoder": (67, 1318),
    "SBERT-base": (44, 1378),
    "SBERT-base, smart batching": (83, 2042),
}

STSB_CROSS_ENCODER, STSB_SBERT = 84.30, 84.67  # Table 2: STSb test, Spearman x 100, trained on STSb
NLI_STSB_CROSS_ENCODER, NLI_STSB_SBERT = 88.33, 85.35  # Table 2: the same after NLI

TABLE_2 = {  # STSb test, of systems that were trained on STSb's train part
    "BERT-STSb-base, a cross-encoder, trained on STSb": STSB_CROSS_ENCODER,
    "SBERT-STSb-base, trained on STSb": STSB_SBERT,
    "BERT-NLI-STSb-base, a cross-encoder, trained on STSb": NLI_STSB_CROSS_ENCODER,
    "SBERT-NLI-STSb-base, trained on STSb": NLI_STSB_SBERT,
}

# fmt: off
STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSb", "SICK-R")
TABLE_1 = {  # Spearman x 100 without training on STS, over all pairs of a set together
    system: dict(zip(STS, figures, strict=True))
    for system, figures in {
        "Avg. GloVe": (55.14, 70.66, 59.73, 68.25, 63.66, 58.02, 53.76),
        "Avg. BERT": (38.78, 57.98, 57.98, 63.15, 61.06, 46.35, 58.40),
        "BERT CLS-vector": (20.16, 30.01, 20.09, 36.88, 38.08, 16.50, 42.63),
        "InferSent": (52.86, 66.75, 62.15, 72.77, 66.87, 68.03, 65.65),
        "USE": (64.49, 67.80, 64.61, 76.83, 73.18, 74.92, 76.69),
        "SBERT-NLI-base": (70.97, 76.53, 73.19, 79.09, 74.30, 77.03, 72.91),
    }.items()
}
TABLE_5 = {  # accuracy x 100 of a linear classifier on the embeddings
    "Avg. GloVe": {"MR": 77.25, "CR": 78.30, "SUBJ": 91.17, "MPQA": 87.85, "SST": 80.18, "TREC": 83.0, "MRPC": 72.87},
    "Avg. BERT": {"MR": 78.66, "CR": 86.25, "SUBJ": 94.37, "MPQA": 88.66, "SST": 84.40, "TREC": 92.8, "MRPC": 69.45},
    "BERT CLS-vector": {"MR": 78.68, "CR": 84.85, "SUBJ": 94.21, "MPQA": 88.23, "SST": 84.13, "TREC": 91.4, "MRPC": 71.13},
    "InferSent": {"MR": 81.57, "CR": 86.54, "SUBJ": 92.50, "MPQA": 90.38, "SST": 84.18, "TREC": 88.2, "MRPC": 75.77},
    "USE": {"MR": 80.09, "CR": 85.19, "SUBJ": 93.98, "MPQA": 86.70, "SST": 86.38, "TREC": 93.2, "MRPC": 70.14},
    "SBERT-NLI-base": {"MR": 83.64, "CR": 89.43, "SUBJ": 94.39, "MPQA": 89.86, "SST": 88.96, "TREC": 89.6, "MRPC": 76.00},
}
# fmt: on

PAIRS = (  # of each data set a pattern of its file's name, the examples that are tested, and the name in the tables
    (r"sts_?12.*", 3_108, "STS12"),
    (r"sts_?13.*", 1_500, "STS13"),
    (r"sts_?14.*", 3_750, "STS14"),
    (r"sts_?15.*", 3_000, "STS15"),
    (r"sts_?16.*", 1_186, "STS16"),
    (r"sts_?b.*|test.*", 1_379, "STSb"),
    (r"sick.*|test.*", 4_927, "SICK-R"),
)
SENTENCES = (
    (r"mr", 10_662, "MR"),
    (r"cr", 3_775, "CR"),
    (r"subj", 10_000, "SUBJ"),
    (r"mpqa", 10_606, "MPQA"),
    (r"sst.*", 1_821, "SST"),
    (r"trec.*", 500, "TREC"),
)
PAIRS_OF_CLASSES = ((r"mrpc", 1_725, "MRPC"),)
MISSING = 0.002  # share of the examples that may be missing, because a sentence is blank
