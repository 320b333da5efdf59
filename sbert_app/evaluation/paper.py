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
STS, CLASSES = "STS12 STS13 STS14 STS15 STS16 STSb SICK-R".split(), "MR CR SUBJ MPQA SST TREC MRPC".split()
TABLES_1_AND_5 = {  # Spearman x 100 without training on STS, over all pairs of a set; accuracy x 100 of a linear classifier
    system: dict(zip((*STS, *CLASSES), figures, strict=True))
    for system, figures in {
        "Avg. GloVe": (55.14, 70.66, 59.73, 68.25, 63.66, 58.02, 53.76, 77.25, 78.30, 91.17, 87.85, 80.18, 83.00, 72.87),
        "Avg. BERT": (38.78, 57.98, 57.98, 63.15, 61.06, 46.35, 58.40, 78.66, 86.25, 94.37, 88.66, 84.40, 92.80, 69.45),
        "BERT CLS-vector": (20.16, 30.01, 20.09, 36.88, 38.08, 16.50, 42.63, 78.68, 84.85, 94.21, 88.23, 84.13, 91.40, 71.13),
        "InferSent": (52.86, 66.75, 62.15, 72.77, 66.87, 68.03, 65.65, 81.57, 86.54, 92.50, 90.38, 84.18, 88.20, 75.77),
        "USE": (64.49, 67.80, 64.61, 76.83, 73.18, 74.92, 76.69, 80.09, 85.19, 93.98, 86.70, 86.38, 93.20, 70.14),
        "SBERT-NLI-base": (70.97, 76.53, 73.19, 79.09, 74.30, 77.03, 72.91, 83.64, 89.43, 94.39, 89.86, 88.96, 89.60, 76.00),
    }.items()
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
