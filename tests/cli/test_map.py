"""The shell's map: a page, a csv, one JSON object."""

import csv
import json

from tests.cli.test_sentences import TICKETS, first_lines


def test_a_page_and_one_json_object(shell, write, tmp_path):
    few = write("few.csv", first_lines(TICKETS, 301))
    out, err = shell("map", few, "--out", tmp_path / "map.html", "--clusters", 6, "--colour", "team", "--json")
    result = json.loads(out)
    assert result["points"] == 300 == sum(cluster["size"] for cluster in result["clusters"])
    assert len(result["clusters"]) == 6 and {"index", "neighbours", "UMAP", "clusters", "names"} <= set(result["seconds"])
    assert "UMAP" in err
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "Billing" in page and "<script src" not in page and "plotly.js v" in page
    out, _ = shell("map", few, "--out", tmp_path / "map.csv", "--method", "HDBSCAN", "--outliers", 2)
    with (tmp_path / "map.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300 and sum(row["cluster"] == "outlier" for row in rows) <= 6 and "outliers" in out
