"""Labels of clusters on the map: two terms, in two lines unless both are short; markup stays text."""

from sbert_app.ui.map.chart import TERM_LENGTH, _label


def test_a_label_holds_two_terms_in_one_or_two_lines():
    assert _label("ship · port · sail") == "ship · port"
    assert _label("exchange rate · foreign · wrong") == "exchange rate<br>foreign"
    assert _label("cluster 2") == "cluster 2" and _label("password reset mail") == "password reset mail"
    first, second = _label(f"{'long' * 20} · <i>x</i>").split("<br>")
    assert len(first) == TERM_LENGTH and first.endswith("…") and second == "&lt;i&gt;x&lt;/i&gt;"
