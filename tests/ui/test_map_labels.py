"""Labels of clusters on the map: two terms, in two lines unless both are short, or a given name; markup stays text."""

from sbert_app.ui.map.chart import TERM_LENGTH, _given, _label


def test_a_label_holds_two_terms_in_one_or_two_lines():
    assert _label("ship · port · sail") == "ship · port"
    assert _label("exchange rate · foreign · wrong") == "exchange rate<br>foreign"
    assert _label("cluster 2") == "cluster 2" and _label("password reset mail") == "password reset mail"
    first, second = _label(f"{'long' * 20} · <i>x</i>").split("<br>")
    assert len(first) == TERM_LENGTH and first.endswith("…") and second == "&lt;i&gt;x&lt;/i&gt;"


def test_a_given_name_is_whole_on_the_map_in_lines():
    assert _given("Refunds") == "Refunds" and _given("a · b · c") == "a · b · c"
    assert _given("Charged twice for the same subscription plan, and then again") == (
        "Charged twice for the<br>same subscription plan,<br>and then again"
    )
    assert [len(line) for line in _given("x" * 60).split("<br>")] == [24, 24, 12] and _given("<b>") == "&lt;b&gt;"
