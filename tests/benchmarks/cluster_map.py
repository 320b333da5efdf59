"""The map: stage by stage on 20,000 titles, UMAP beside umap-learn's plain call, first use, 100,000 points in a browser."""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.neighbors import KDTree

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.result import CorpusMap, accord
from sbert_app.jobs.map.job import ClusterOptions, draw
from sbert_app.mapping import projection
from sbert_app.mapping.clusters import METHODS, cluster
from sbert_app.mapping.keywords import Words
from sbert_app.mapping.projection import NEIGHBOURS, NeighbourIndex, Points, UmapLayout
from sbert_app.mapping.word_forms import akin
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime.examples import CALIBRATION_EXAMPLE
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench, warm_up
from sbert_app.settings import Settings
from sbert_app.vectors import Vectors
from tests.benchmarks import data
from tests.benchmarks.timing import alternate, seconds_of

ROWS, MANY, TAGS = 10_000, 100_000, 20
PLOT = "#map-plot .js-plotly-plot"
# What a fresh process needs from a saved array to the preview and to the map, without and with the imports.
FIRST_USE = """
import sys, time, json
import numpy as np
from sbert_app.mapping import projection
from sbert_app.mapping.projection import NeighbourIndex
vectors = np.load(sys.argv[1])
start = time.perf_counter()
layout = projection.UmapLayout(projection.preview(vectors))
preview = time.perf_counter() - start
layout.run(NeighbourIndex(vectors).search(vectors, projection.NEIGHBOURS))
print(json.dumps({"preview_seconds": preview, "map_seconds": time.perf_counter() - start}))
"""


def report() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as home:
        bench = Workbench(Settings(home=Path(home), device="cpu"))
        warm_up(bench)
        table = data.rows("topics/stackoverflow_titles")
        encoder = bench.registry.encoder(DEFAULT_ENCODER)
        titles = data.indexed(encoder, [row["text"] for row in table], label=[row["label"] for row in table])
        sample = np.random.default_rng(0).permutation(len(table))[:ROWS]
        vectors = np.ascontiguousarray(titles.embeddings[sample])
        return {
            "titles": end_to_end(bench, titles),
            "names": names(),
            "umap_of_10000": beside_umap_learn(vectors),
            "first_use": first_use(vectors),
            "browser": browser(bench.settings),
        }


def names() -> dict[str, float]:
    """Groups of questions by intent: the share of groups whose name has a word of the intent's own title, within so many terms."""
    table = data.rows("topics/banking77_test")
    intents, labels = np.unique([row["label"] for row in table], return_inverse=True)
    terms = Words([row["text"] for row in table]).keywords(labels.astype(np.int32))
    titles = [re.split(r"[\W_]+", intent.lower()) for intent in intents]
    return {
        f"within_{most}": float(
            np.mean([_named(" ".join(group[:most]), title) for group, title in zip(terms, titles, strict=True)])
        )
        for most in (1, 2)
    }


def _named(name: str, title: list[str]) -> bool:
    return any(word == other or akin(word, other) for word in name.split() for other in title)


def end_to_end(bench: Workbench, titles: IndexedCorpus) -> dict[str, Any]:
    """20,000 titles with 20 tags: seconds by stage, the automatic number, and every method against the tags with k = 20."""
    import umap

    session = Session()
    session.open(titles)
    *_, found = draw(bench, session, ClusterOptions())
    assert isinstance(found, CorpusMap)
    gold = titles.corpus.metadata["label"].to_numpy(dtype=object)
    points, vectors = found.projection.points, titles.embeddings
    ours = sum(found.seconds.values())
    start = time.perf_counter()
    labels = {"umap-learn's plain call and k-means": _kmeans(umap.UMAP().fit_transform(vectors))}
    plain = time.perf_counter() - start
    labels["k-means on the embeddings"] = _kmeans(vectors)
    raw = time.perf_counter() - start - plain
    labels |= {f"this app, {method}": cluster(points, vectors, method, TAGS).labels for method in METHODS}
    return {
        "rows": len(gold),
        "seconds": found.seconds,
        "automatic_clusters": found.clustering.count,
        "silhouette": found.silhouette,
        "against_the_tags": {name: vars(accord("tag", found_labels, gold)) for name, found_labels in labels.items()},
        "whole_seconds": {"this app": ours, "umap-learn's plain call and k-means": plain, "k-means on the embeddings": raw},
        "times_umap_learn": plain / ours,
    }


def _kmeans(rows: Any) -> Any:
    return KMeans(TAGS, n_init=4, random_state=0).fit_predict(rows).astype(np.int32)


def beside_umap_learn(vectors: Vectors) -> dict[str, Any]:
    """10,000 embeddings, warm, alternating: this app from embeddings to points, and umap-learn's own default call."""
    import umap

    pictures: list[Points] = []

    def ours() -> None:
        layout = UmapLayout(projection.preview(vectors))
        layout.run(NeighbourIndex(vectors).search(vectors, NEIGHBOURS))
        pictures.append(layout.points)

    theirs: list[Points] = []
    umap.UMAP().fit(vectors[:500])
    seconds = alternate({"this app": ours, "umap-learn": lambda: theirs.append(umap.UMAP().fit_transform(vectors))})
    return {
        "seconds": seconds,
        "ratio": seconds["umap-learn"] / seconds["this app"],
        "neighbours_kept": {"this app": _kept(pictures[0], vectors), "umap-learn": _kept(theirs[0], vectors)},
        "same_picture": all(np.array_equal(pictures[0], picture) for picture in pictures),
    }


def _kept(points: Points, vectors: Vectors) -> float:
    """The share of each row's 15 nearest by cosine that are among its 15 nearest on the map."""
    near = NeighbourIndex(vectors).search(vectors, NEIGHBOURS + 1).rows[:, 1:].tolist()
    on_map = KDTree(points).query(points, NEIGHBOURS + 1)[1][:, 1:].tolist()
    return float(np.mean([len(set(a) & set(b)) / NEIGHBOURS for a, b in zip(near, on_map, strict=True)]))


def first_use(vectors: Vectors) -> dict[str, Any]:
    """In a new process: seconds to the preview and to the map, importing and compiling umap-learn included."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, vectors)
        shown = subprocess.run([sys.executable, "-c", FIRST_USE, file.name], check=True, capture_output=True, text=True).stdout
    return json.loads(shown)


def browser(settings: Settings) -> dict[str, Any]:
    """100,000 real sentences in Chromium: opening, drawing, colouring anew, a lasso, a click. Software rendering."""
    from playwright.sync_api import sync_playwright

    from sbert_app.ui.map.chart import layout_figure
    from tests.browser.chromium import chromium, go_to
    from tests.served import Served

    app = Served(settings)
    bench = app.bench
    warm_up(bench)
    sentences, encoder = data.many_sentences(MANY), bench.registry.encoder(DEFAULT_ENCODER)
    # It stands where the example does, which is what a visitor without a corpus sees.
    corpus = data.indexed(encoder, sentences, label=[str(i % 7) for i in range(MANY)])
    bench.examples._kept[(CALIBRATION_EXAMPLE, encoder.fingerprint)] = corpus
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(**chromium()).new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(300_000)
        page.goto(app.url)
        go_to(page, "Map")
        measured: dict[str, Any] = {"preview_on_opening_the_tab": seconds_of(page.locator(PLOT).wait_for)}
        page.locator("#map-draw").click()
        measured["map_and_clusters"] = seconds_of(page.locator("#map-summary p").first.wait_for)
        page.wait_for_timeout(5_000)
        measured |= {"colours_anew": _coloured(page), "lasso": _lasso(page)}
    app.close()
    figure = layout_figure(np.zeros((MANY, 2), np.float32), np.arange(MANY))
    return {"points": MANY, "payload_megabytes": len(figure.to_json()) / 1e6, "seconds": measured}


def _coloured(page: Any) -> float:
    """From the choice of a colour to the drawn points: server, transfer and drawing."""
    page.evaluate(f"document.querySelector('{PLOT}').once('plotly_afterplot', () => window.drawnAt = performance.now())")
    page.locator("#map-colour input").click()
    page.get_by_role("option", name="Column: label", exact=True).click()
    seconds = seconds_of(lambda: page.wait_for_function("window.drawnAt"))
    page.wait_for_timeout(3_000)
    return seconds


def _lasso(page: Any) -> dict[str, Any]:
    """Draw around the middle: seconds from letting go to the table."""
    from tests.browser.test_map import lasso

    lasso(page, 180)
    inside = "document.querySelector('#map-selection')?.innerText.includes('inside the lasso')"
    seconds = seconds_of(lambda: page.wait_for_function(inside))
    return {"seconds": seconds, "head": page.locator("#map-selection .hits-head b").inner_text()}
