"""All services, built once and shared by the page, the endpoints and the shell."""

from dataclasses import dataclass

from sbert_app.runtime.workbench import Workbench
from sbert_app.services.corpus.cluster_map import MapService
from sbert_app.services.corpus.corpora import CorpusService
from sbert_app.services.corpus.duplicates import DuplicatesService
from sbert_app.services.corpus.overlap import OverlapService
from sbert_app.services.evaluation_grid import GridService
from sbert_app.services.fine_tune import FineTuneService
from sbert_app.services.timing import TimingService
from sbert_app.services.trained_models import TrainedModels


@dataclass(frozen=True)
class Services:
    """One instance of each service. Their state is in the workbench's sessions and on disk."""

    bench: Workbench
    corpora: CorpusService
    duplicates: DuplicatesService
    overlap: OverlapService
    maps: MapService
    trainings: FineTuneService
    models: TrainedModels
    grids: GridService
    timings: TimingService


def build_services(bench: Workbench) -> Services:
    """Build all services on one workbench. Raises UserError for settings that a service cannot follow."""
    trainings = FineTuneService(bench)
    return Services(
        bench=bench,
        corpora=CorpusService(bench),
        duplicates=DuplicatesService(bench),
        overlap=OverlapService(bench),
        maps=MapService(bench),
        trainings=trainings,
        models=TrainedModels(bench, trainings),
        grids=GridService(bench),
        timings=TimingService(bench),
    )
