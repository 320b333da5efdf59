"""`/healthz`, `/readyz` and, when switched on, `/metrics`: whether the app lives, is ready, what it does. No word of a visitor."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sbert_app.runtime.workbench import Workbench
from sbert_app.serve.routes import has_key
from sbert_app.watching import JOBS

PREFIX = "sbert_studio"
BUCKETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # seconds of a job
FORWARDED = ("x-forwarded-for", "forwarded")  # headers of a request that a proxy has passed on


def health_routes(bench: Workbench) -> list[Route]:
    """The routes, to be added to the app. The first two need neither key nor session, and tell nothing else."""

    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok")

    def ready(_: Request) -> Response:
        missing = bench.missing()
        return JSONResponse({"ready": not missing, "missing": missing}, 503 if missing else 200)

    routes = [Route("/healthz", alive), Route("/readyz", ready)]
    return [*routes, Route("/metrics", metrics(bench))] if bench.settings.metrics else routes


def metrics(bench: Workbench) -> Callable[[Request], Response]:
    """The handler of /metrics. Who comes through a proxy, as visitors do, needs the key; without one it is not there for them."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(BenchCollector(bench))
    JOBS.addHandler(JobCounts(registry))
    JOBS.setLevel(logging.INFO)

    def answer(request: Request) -> Response:
        if any(name in request.headers for name in FORWARDED) and not has_key(request, bench.settings.key):
            return PlainTextResponse("There is no such page in this app.", 404)
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return answer


class JobCounts(logging.Handler):
    """Counts the jobs as their lines are logged, and their seconds, waiting included."""

    def __init__(self, registry: Any) -> None:
        import prometheus_client as prometheus

        super().__init__()
        ended, seconds = (f"{PREFIX}_jobs", "Jobs that ended."), (f"{PREFIX}_job_seconds", "Seconds from begin to end of a job.")
        self._ended = prometheus.Counter(*ended, ("door", "job", "outcome"), registry=registry)
        self._seconds = prometheus.Histogram(*seconds, ("door", "job"), registry=registry, buckets=BUCKETS)

    def emit(self, record: logging.LogRecord) -> None:
        about: dict[str, Any] = getattr(record, "about", {})
        if "outcome" in about:
            self._ended.labels(about["door"], about["job"], about["outcome"]).inc()
            self._seconds.labels(about["door"], about["job"]).observe(about["milliseconds"] / 1_000)


class BenchCollector:
    """What the workbench holds at the moment."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def collect(self) -> Iterator[Any]:
        """The figures, read now."""
        from prometheus_client.core import CounterMetricFamily as Total
        from prometheus_client.core import GaugeMetricFamily as Gauge

        bench, lines = self._bench, {name: line for name, line in vars(self._bench.lines).items() if name != "active"}
        queue = {(name, state): jobs for name, line in lines.items() for state, jobs in line.counts().items()}
        runs = Counter((bench.worker.updated(info).state,) for info in bench.runs.list())
        asked = {(result,): bench.embedder.asked[result == "hit"] for result in ("hit", "miss")}
        yield _family(Gauge, "queue_jobs", "Heavy jobs that wait or run, by line.", queue, "line", "state")
        yield _family(Gauge, "training_runs", "Training runs, by state.", runs, "state")
        yield _family(Gauge, "sessions", "Sessions of visitors.", {(): len(bench.sessions)})
        yield _family(Gauge, "session_bytes", "Bytes that all sessions hold, approximately.", {(): bench.sessions.nbytes})
        yield _family(Total, "device_seconds", "Seconds in which the device was in use.", {(): bench.device.seconds})
        yield _family(Total, "cached_sentences", "Sentences looked up in the cache of embeddings.", asked, "result")


def _family(kind: Any, name: str, about: str, values: Mapping[Any, float], *labels: str) -> Any:
    """Figures of one name. values: by the values of the labels."""
    family = kind(f"{PREFIX}_{name}", about, labels=labels)
    for which, value in values.items():
        family.add_metric(which, value)
    return family
