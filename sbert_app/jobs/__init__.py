"""All jobs of the app. The endpoints, shell commands and MCP tools are generated from this list."""

from sbert_app.jobs.compare import COMPARE
from sbert_app.jobs.corpus.job import INDEX_CORPUS
from sbert_app.jobs.duplicates.job import DUPLICATES
from sbert_app.jobs.encode import ENCODE, MODELS
from sbert_app.jobs.evaluate.job import EVALUATE
from sbert_app.jobs.fine_tune.job import FINE_TUNE
from sbert_app.jobs.label import LABEL
from sbert_app.jobs.map.job import CLUSTER_MAP
from sbert_app.jobs.open_collection import OPEN_COLLECTION
from sbert_app.jobs.score_pairs import SCORE_PAIRS
from sbert_app.jobs.search.job import SEARCH
from sbert_app.jobs.search.why_not import WHY_NOT
from sbert_app.jobs.similarity import SIMILARITY
from sbert_app.jobs.timing import TIMING
from sbert_app.jobs.transfer import TRANSFER

JOBS = (
    SIMILARITY, SCORE_PAIRS, ENCODE, INDEX_CORPUS, OPEN_COLLECTION, SEARCH, WHY_NOT, DUPLICATES,
    CLUSTER_MAP, LABEL, FINE_TUNE, EVALUATE, COMPARE, TRANSFER, TIMING, MODELS,
)  # fmt: skip
