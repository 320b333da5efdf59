"""Under the hits: judge them by click, and download the judgements."""

import gradio as gr
from markupsafe import Markup

from sbert_app.services.corpus.judging import FILE, Judgements, JudgingService
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler, sent
from sbert_app.ui.kit.files import FileButton
from sbert_app.wording import plural

# "judged" is a custom event of the hits: a row, its grade (null: taken back), and the query that the hits are of.
JUDGED = """
element.addEventListener('click', event => {
  const button = event.target.closest('button[data-judge]');
  if (!button) return;
  const { of: row, judge } = button.dataset;
  const grade = button.getAttribute('aria-pressed') === 'true' ? null : Number(judge);
  for (const other of element.querySelectorAll(`button[data-of="${row}"]`))
    other.setAttribute('aria-pressed', String(grade !== null && Number(other.dataset.judge) === grade));
  trigger('judged', {query: element.querySelector('[data-query]').dataset.query, row: Number(row), grade});
});
"""
USE = "Add the file in Evaluation: it measures how well each way to rank answers your queries."
SHOW_BUTTONS = "on => { document.body.classList.toggle('judging', on); }"


class JudgingPanel:
    """Components, without visitors' data."""

    def __init__(self, service: JudgingService, session_id: gr.State) -> None:
        self._service, self._session_id = service, session_id
        with gr.Row(elem_id="judging") as self.row:
            self.on = gr.Checkbox(False, label="Judge these hits", container=False, scale=0, min_width=170, elem_id="judge")
            self.count = gr.HTML(elem_id="judged", js_on_load=None)
            self.file = FileButton(FILE, "judgements", visible=False)

    @property
    def outputs(self) -> list[gr.components.Component]:
        return [self.count, self.file.button]

    def listen(self, hits: gr.HTML) -> None:
        self.on.input(None, self.on, None, js=SHOW_BUTTONS, **PRIVATE)
        session = [self._session_id]
        hits.judged(handler(self._on_judged), session, self.outputs, trigger_mode="multiple", **PRIVATE)
        self.file.listen(self._service.as_csv, session)

    def of_query(self, session_id: str, query: str) -> dict[int, int]:
        """The grade of each judged row."""
        return self._service.of_query(session_id, query)

    def shown(self, session_id: str) -> Updates:
        """How much is judged, and the button of the file."""
        judgements = self._service.all(session_id)
        number = len(judgements.grades)
        return {self.count: count(judgements), self.file.button: self.file.labelled(f"{number:,}", number > 0)}

    def _on_judged(self, session_id: str, event: gr.EventData) -> Updates:
        judged = sent(event)
        self._service.judge(session_id, judged.get("query"), judged.get("row"), judged.get("grade"))
        return self.shown(session_id)


def count(judgements: Judgements) -> Markup:
    """How many hits of how many queries are judged; nothing without any."""
    number = len(judgements.grades)
    if not number:
        return Markup()
    queries = len({query for query, _ in judgements.grades})
    text = f"{number:,} {plural(number, 'hit', 'hits')} of {queries:,} {plural(queries, 'query', 'queries')} judged. {USE}"
    return html.hint(text)
