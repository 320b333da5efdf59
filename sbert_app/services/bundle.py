"""All services, built once and shared by the page, the endpoints and the shell."""

from dataclasses import dataclass

from sbert_app.runtime.workbench import Workbench
from sbert_app.services.collection.service import CollectionService
from sbert_app.services.corpus.cluster_map import MapService
from sbert_app.services.corpus.corpora import CorpusService
from sbert_app.services.corpus.duplicates import DuplicatesService
from sbert_app.services.corpus.judging import JudgingService
from sbert_app.services.corpus.overlap import OverlapService
from sbert_app.services.corpus.search import SearchService
from sbert_app.services.corpus.standing import StandingService
from sbert_app.services.pair_file import PairFileService
from sbert_app.services.similarity import SimilarityService


@dataclass(frozen=True)
class Services:
    """One instance of each service. Their state is in the workbench's sessions and on disk."""

    bench: Workbench
    similarity: SimilarityService
    pair_files: PairFileService
    corpora: CorpusService
    collections: CollectionService
    search: SearchService
    standings: StandingService
    judging: JudgingService
    duplicates: DuplicatesService
    overlap: OverlapService
    maps: MapService


def build_services(bench: Workbench) -> Services:
    """Build all services on one workbench. Raises UserError for settings that a service cannot follow."""
    return Services(
        bench=bench,
        similarity=SimilarityService(bench),
        pair_files=PairFileService(bench),
        corpora=CorpusService(bench),
        collections=CollectionService(bench),
        search=SearchService(bench),
        standings=StandingService(bench),
        judging=JudgingService(bench),
        duplicates=DuplicatesService(bench),
        overlap=OverlapService(bench),
        maps=MapService(bench),
    )
