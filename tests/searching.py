"""Corpora and searches as tests ask for them: by lines and by values instead of files and a job's options."""

from sbert_app.corpus.hits import DEFAULT_RANKING
from sbert_app.corpus.indexed import DENSE
from sbert_app.jobs.corpus.job import index
from sbert_app.jobs.corpus.opening import open_example, read_lines
from sbert_app.jobs.search import job, why_not


def brought(bench, lines, session=None):
    """A session, by default a new one, in which lines, or a table, wait to be indexed."""
    session = session or bench.sessions.open()
    text = "\n".join(lines) if isinstance(lines, list) else lines
    session.put(read_lines(text, bench.settings.limits) if isinstance(text, str) else text)
    return session


def indexing(bench, lines, session=None):
    """A session, by default a new one, whose corpus is lines, or the column "text" of a table; and the steps that indexed it."""
    session = brought(bench, lines, session)
    return session, list(index(bench, session, ["text"]))


def indexed(bench, lines, session=None):
    session, _ = indexing(bench, lines, session)
    return session


def of_example(bench, name, *model):
    """A new session whose corpus is an example."""
    session = bench.sessions.open()
    open_example(bench, session, name, *model)
    return session


def asked(query="", top=10, filters=None, ranking=DEFAULT_RANKING, cross_encoder=""):
    """The options of the job search."""
    return job.SearchOptions(query, top, filters, ranking=ranking, rerank=bool(cross_encoder), cross_encoder=cross_encoder)


def search(bench, session, *values, **named):
    return job.search(bench, session, asked(*values, **named))


def beside(bench, session, other, *values, **named):
    return job.beside(bench, session, other, asked(*values, **named))


def more_like(bench, session, row, *values, ranking=DENSE, passage=None):
    return job.more_like(bench, session, row, asked("", *values, ranking=ranking), passage)


def explain(bench, session, *values):
    """Why a row was not found: query, expected, top, filters, ranking."""
    return why_not.why_not(bench, session, why_not.WhyNotOptions(*values))
