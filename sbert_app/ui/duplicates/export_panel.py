"""Buttons to download the corpus without duplicates, the list of what stays and goes, and the pairs."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from sbert_app.corpus.findings import Findings
from sbert_app.services.corpus.duplicates import MOST_LISTED, DuplicatesService
from sbert_app.tables.writing import csv_file
from sbert_app.ui.duplicates import view
from sbert_app.ui.kit.events import Updates
from sbert_app.ui.kit.files import FileButton
from sbert_app.wording import plural

CLEANED, VERDICTS, PAIRS = view.CLEANED, "keep-or-drop.csv", "pairs.csv"


class ExportPanel:
    """Components and event handlers. A file is made when its button is clicked."""

    def __init__(self, service: DuplicatesService) -> None:
        self._service = service
        with gr.Row(elem_classes="examples"):
            names = (CLEANED, VERDICTS, PAIRS)
            self._files = {name: FileButton(name, f"duplicates-{name.removesuffix('.csv')}") for name in names}
        self._links = gr.HTML(elem_id="duplicates-take-home", js_on_load=None)

    @property
    def outputs(self) -> list[Any]:
        """The components that `labelled` updates."""
        return [*(file.button for file in self._files.values()), self._links]

    def labelled(self, findings: Findings) -> Updates:
        """Show how much each file will hold, and offer the commands."""
        pairs = min(findings.pair_count, MOST_LISTED)
        amounts = {
            CLEANED: f"{findings.staying:,} {plural(findings.staying, 'row', 'rows')}",
            VERDICTS: f"{len(findings.corpus):,} {plural(len(findings.corpus), 'row', 'rows')}",
            PAIRS: f"{'the best ' if pairs < findings.pair_count else ''}{pairs:,} {plural(pairs, 'pair', 'pairs')}",
        }
        buttons = {
            file.button: file.labelled(amounts[name], visible=pairs > 0 if name == PAIRS else not view.is_partial(findings))
            for name, file in self._files.items()
        }
        return {**buttons, self._links: view.links(findings)}

    def listen(self, inputs: list[Any]) -> None:
        """inputs: session, threshold, and which rows go."""
        for name, written in ((CLEANED, Findings.cleaned_file), (VERDICTS, _verdicts), (PAIRS, _pairs)):
            self._files[name].listen(self._content(written), inputs)

    def _content(self, written: Callable[[Findings], str]) -> Callable[..., str]:
        def content(session_id: str, threshold: float, remove: str) -> str:
            return written(self._service.findings(session_id, threshold, remove))

        return content


def _verdicts(findings: Findings) -> str:
    return csv_file(list(findings.verdicts()))


def _pairs(findings: Findings) -> str:
    return csv_file([view.pair_record(pair) for pair in findings.pairs(MOST_LISTED)])
