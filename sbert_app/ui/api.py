"""The named endpoints for gradio_client: plain JSON in and out, one workbench behind them and the page."""

from collections import deque
from dataclasses import asdict
from typing import Any

import gradio as gr
from gradio import events

from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.services.bundle import Services
from sbert_app.services.duplicates import DEFAULT_THRESHOLD, MOST_LISTED, checked_threshold
from sbert_app.services.validation import whole_number
from sbert_app.tables.table import skipped_summary
from sbert_app.ui.kit.events import ENDED, handler
from sbert_app.ui.kit.uploads import uploaded
from sbert_app.ui.kit.visitors import visitor_of


class Endpoints:
    """One method an endpoint. The docstrings are the API page."""

    def __init__(self, services: Services) -> None:
        self._bench, self._corpora = services.bench, services.corpora
        self._similarity, self._search, self._duplicates = services.similarity, services.search, services.duplicates

    def similarity(self, sentence1: str, sentence2: str, model: str = DEFAULT_ENCODER, cross_encoder: str = "") -> dict[str, Any]:
        """Compare two sentences by meaning.

        Args:
            sentence1: The first sentence.
            sentence2: The second sentence.
            model: A name from /models.
            cross_encoder: A cross-encoder from /models that scores the pair too. Empty: none.

        Returns:
            score (cosine, -1..1), percentile (share of random pairs that score lower, 0..100), poolings, word_overlap,
            links (the strongest word pairs with their contribution), residual, cross_encoder_score, milliseconds.
        """
        rival = self._similarity.cross_encode(sentence1, sentence2, cross_encoder) if cross_encoder else None
        result = self._similarity.compare(sentence1, sentence2, model)
        why = result.attribution
        return {
            "score": result.score,
            "percentile": result.percentile,
            "calibrated_on": result.calibrated_on,
            "pooling": result.pooling,
            "poolings": result.poolings,
            "word_overlap": result.word_overlap,
            "links": [asdict(link) for link in why.strongest(8)] if why else [],
            "residual": why.residual if why else None,
            "cross_encoder_score": rival.score if rival else None,
            "milliseconds": result.milliseconds,
        }

    def index_corpus(self, file: str | None, lines: str, columns: list[str], model: str, request: gr.Request) -> dict[str, Any]:
        """Index a corpus, from a file or from lines, and get an id to search it with.

        Args:
            file: A csv, tsv, jsonl, json, parquet, xlsx or txt file. Leave empty to send lines.
            lines: One sentence a line, used where there is no file.
            columns: The sentence columns (several are joined). Empty: guessed from names and content.
            model: A name from /models.

        Returns:
            corpus (the id for /search: whoever has it can search), sentences, columns, index, recall, seconds, notes.
        """
        if file:
            with uploaded(file, "") as path:
                table = self._corpora.read_file(path)
        else:
            table = self._corpora.read_lines(lines)
        session = self._bench.sessions.open(visitor_of(request, self._corpora.hosted))
        guess = self._corpora.offer(session.id, table)
        *_, last = self._corpora.index(session.id, columns or [guess], model)
        if last.corpus is None:
            raise UserError(ENDED)
        report, source = last.corpus.index.report, last.corpus.corpus
        return {
            "corpus": session.id,
            "sentences": len(source),
            "columns": list(source.columns),
            "index": report.kind,
            "recall": report.recall,
            "seconds": last.seconds,
            "notes": [*last.notes, *source.notes, *skipped_summary(source.skipped)],
        }

    def search(
        self,
        corpus: str,
        query: str,
        top: int = 10,
        filters: dict[str, Any] | None = None,
        hybrid: bool = False,
        rerank: bool = False,
    ) -> dict[str, Any]:
        """Search an indexed corpus by meaning.

        Args:
            corpus: The id that /index_corpus returned.
            query: What to look for, in any words.
            top: Number of hits.
            filters: Column to value, to list of values, to {"contains": text}, or to {"from": low, "to": high}.
            hybrid: Join the ranking with BM25 word search.
            rerank: Let the cross-encoder order the best hits.

        Returns:
            hits (rank, row counted from 1, score, sentence, metadata, cross_score) and milliseconds by stage.
        """
        result = self._search.search(corpus, query, top, filters, hybrid, rerank)
        return {"hits": [asdict(hit) for hit in result.hits], "milliseconds": result.milliseconds}

    def duplicates(self, corpus: str, threshold: float = DEFAULT_THRESHOLD, top: int = 100) -> dict[str, Any]:
        """Find what an indexed corpus says twice. Asked again with another threshold, nothing is compared again.

        Args:
            corpus: The id that /index_corpus returned.
            threshold: The cosine from which two sentences are duplicates, 0.5..1.
            top: Number of pairs to list.

        Returns:
            pairs (row1, row2 counted from 1, score, both sentences; best first), groups (representative: the row to keep,
            rows, size), rows, redundant (the rows that could go), exact_copies, threshold and floor (pairs below it are not
            known), exact, recall (share of pairs found, for corpora too large for exact mining), seconds by stage.
        """
        threshold = checked_threshold(threshold)
        top = whole_number(top, "number of pairs", 0, MOST_LISTED)
        if not self._duplicates.known(corpus):
            deque(self._duplicates.find(corpus), maxlen=0)  # run to the end, or until the same is asked again
        return self._duplicates.findings(corpus, threshold).summary(top)

    def models(self) -> list[dict[str, Any]]:
        """List the models that can be named.

        Returns:
            name, kind ("encoder" or "cross-encoder"), origin ("bundled", "saved", "hub"), dim, available.
        """
        return [asdict(model) for model in self._bench.registry.list()]


def build(services: Services) -> None:
    """Add the endpoints to the page that is being drawn."""
    endpoints = Endpoints(services)
    events.api(handler(endpoints.similarity), api_name="similarity")
    events.api(handler(endpoints.search), api_name="search")
    events.api(handler(endpoints.duplicates), api_name="duplicates", concurrency_limit=None)
    events.api(handler(endpoints.models), api_name="models")
    # A file must pass through gr.File, which accepts uploads of this app only and no path of the server.
    with gr.Row(visible=False):
        inputs = [gr.File(), gr.Textbox(""), gr.JSON([]), gr.Textbox(DEFAULT_ENCODER)]
        gr.Button().click(handler(endpoints.index_corpus), inputs, gr.JSON(), api_name="index_corpus", concurrency_limit=None)
