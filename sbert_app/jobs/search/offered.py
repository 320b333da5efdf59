"""What the page shows of an open corpus before a search: how it can be searched, its first query, and what to mind."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.filters import FilterColumn, filter_columns
from sbert_app.corpus.hits import RANKINGS, FormerIndex
from sbert_app.jobs.search.job import OFFERED
from sbert_app.jobs.search.ranked_hits import encoder_of, unread_reason
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

SAMPLED, BEGINNING = 200, 300  # rows of a corpus, characters of each
LEAST_ROWS, LEAST_SHARE = 2, 0.1  # of the sampled rows: below it, they are quotations and names


@dataclass(frozen=True)
class Offered:
    """What an open corpus can be searched with.

    former_model: of the index before, or ""; rerankers: cross-encoders at hand that may rank answers; rankings: of RANKINGS.
    columns: how rows can be filtered. sampled: of a collection, the rows of the sample that values are counted in, else 0.
    """

    former_model: str
    rerankers: Sequence[str]
    rankings: Sequence[str]
    columns: Sequence[FilterColumn]
    sampled: int = 0


def offered(bench: Workbench, session: Session) -> Offered:
    """What the open corpus can be searched with."""
    corpus, collection, former = session.corpus().corpus, session.get(OpenCollection), session.get(FormerIndex)
    models = former.indexed.model if former else "", bench.registry.rerankers()
    if collection is None:
        return Offered(*models, tuple(RANKINGS), corpus.filter_columns)
    columns = list(collection.facts.columns)  # those that the store can filter by
    sampled = len(corpus) if collection.is_sampled else 0
    return Offered(*models, OFFERED, [*filter_columns(corpus.metadata[columns]), FilterColumn(collection.facts.sentence)], sampled)


def cautions(bench: Workbench, session: Session) -> tuple[str, ...]:
    """What to mind in searches of the open corpus: rows that its model hardly reads."""
    return corpus_caution(encoder_of(bench, session), session.corpus().corpus.sentences)


def weak_below(bench: Workbench, session: Session) -> float:
    """The cosine below which a hit in the open corpus is weak."""
    return bench.examples.references(encoder_of(bench, session)).weak


def first_query(bench: Workbench, session: Session, query: str) -> str:
    """The query to show when a corpus is opened: the typed one; the example's if none or another example's is there."""
    first = session.corpus().corpus.first_query
    return first if not query or query in bench.examples.queries else query


def corpus_caution(encoder: "Encoder", sentences: Sequence[str]) -> tuple[str, ...]:
    """A sentence on how many rows the model hardly reads, judged by a sample of them; nothing if these are few."""
    total = len(sentences)
    sample = [sentences[i][:BEGINNING] for i in np.linspace(0, total - 1, min(total, SAMPLED)).astype(int)]
    count = sum(bool(unread_reason(encoder, text)) for text in sample)
    if count < max(LEAST_ROWS, LEAST_SHARE * len(sample)):
        return ()
    rows = f"{count:,}" if len(sample) == total else f"About {10 * round(total * count / len(sample) / 10):,}"
    return (f"{rows} of {total:,} rows are in a language or script that {encoder.name} hardly reads: do not rely on their scores.",)
