"""The shell's map: a page, a csv, one JSON object; mistakes in one line."""

import csv
import json
from pathlib import Path

import pytest

TICKETS = Path(__file__).parents[2] / "assets" / "examples" / "support_tickets.csv"


def test_a_page_and_one_json_object(shell, tmp_path):
    out, err = shell("map", TICKETS, "--out", tmp_path / "map.html", "--clusters", 6, "--colour", "team", "--json")
    result = json.loads(out)
    assert result["points"] == 926 and sum(cluster["size"] for cluster in result["clusters"]) == 926
    assert len(result["clusters"]) == 6 and {"index", "neighbours", "UMAP", "clusters", "names"} <= set(result["seconds"])
    assert "UMAP" in err
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "Billing" in page and "<script src" not in page and "plotly.js v" in page
    out, _ = shell("map", TICKETS, "--out", tmp_path / "map.csv", "--method", "HDBSCAN", "--outliers", 2)
    with (tmp_path / "map.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 926 and sum(row["cluster"] == "outlier" for row in rows) <= 18 and "outliers" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "map.pdf"], "must end in .html or .csv"),
        (["--out", "no/such/folder/map.csv"], "Choose another path"),
    ],
)
def test_mistakes_are_one_line(shell, write, options, message):
    _, err = shell("map", write("few.csv", "text\none\ntwo\nthree\n"), *options, status=2)
    assert message in err.splitlines()[-1]
