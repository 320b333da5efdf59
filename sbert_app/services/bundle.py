"""All services, built once and shared by the page, the endpoints and the shell."""

from dataclasses import dataclass

from sbert_app.jobs.collection.service import CollectionService
from sbert_app.jobs.score_pairs.scoring import PairFileService
from sbert_app.jobs.search.judging import JudgingService
from sbert_app.jobs.search.searching import SearchService
from sbert_app.jobs.search.standing import StandingService
from sbert_app.jobs.similarity.compare import SimilarityService
from sbert_app.runtime.workbench import Workbench


@dataclass(frozen=True)
class Services:
    """One instance of each service. Their state is in the workbench's sessions and on disk."""

    bench: Workbench
    similarity: SimilarityService
    pair_files: PairFileService
    collections: CollectionService
    search: SearchService
    standings: StandingService
    judging: JudgingService


def build_services(bench: Workbench) -> Services:
    """Build all services on one workbench. Raises UserError for settings that a service cannot follow."""
    return Services(
        bench=bench,
        similarity=SimilarityService(bench),
        pair_files=PairFileService(bench),
        collections=CollectionService(bench),
        search=SearchService(bench),
        standings=StandingService(bench),
        judging=JudgingService(bench),
    )
