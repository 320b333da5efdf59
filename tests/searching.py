"""Searches as tests ask for them: by their values instead of a job's options."""

from sbert_app.corpus.hits import DEFAULT_RANKING
from sbert_app.corpus.indexed import DENSE
from sbert_app.jobs.search import job, why_not


def asked(query="", top=10, filters=None, ranking=DEFAULT_RANKING, cross_encoder=""):
    """The options of the job search."""
    return job.SearchOptions(query, top, filters, ranking=ranking, rerank=bool(cross_encoder), cross_encoder=cross_encoder)


def search(bench, session, *values, **named):
    return job.search(bench, session, asked(*values, **named))


def beside(bench, session, other, *values, **named):
    return job.beside(bench, session, other, asked(*values, **named))


def more_like(bench, session, row, *values, ranking=DENSE):
    return job.more_like(bench, session, row, asked("", *values, ranking=ranking))


def explain(bench, session, *values):
    """Why a row was not found: query, expected, top, filters, ranking."""
    return why_not.why_not(bench, session, why_not.WhyNotOptions(*values))
