"""Points: the preview, UMAP from it, new rows among old ones. Real UMAP on the real embeddings of the example tickets."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sbert_app.mapping import projection
from sbert_app.mapping.projection import NEIGHBOURS, SEED, NeighbourIndex, UmapLayout, preview, scaled
from sbert_app.vectors import unit_rows


@pytest.fixture(scope="module")
def vectors(encoder, sentences):
    return unit_rows(encoder.encode(sentences[:200]))


@pytest.fixture(scope="module")
def near(vectors):
    return NeighbourIndex(vectors).search(vectors, NEIGHBOURS)


@pytest.fixture(scope="module")
def laid_out(vectors, near):
    layout = UmapLayout(preview(vectors))
    layout.run(near)
    return layout


def kept(points, near):
    """The share of each row's neighbours in the embedding space that are its neighbours on the plane too."""
    on_plane = ((points[:, None] - points[None]) ** 2).sum(-1).argsort(1)[:, :NEIGHBOURS]
    return np.mean([len(set(a) & set(b)) / NEIGHBOURS for a, b in zip(on_plane.tolist(), near.rows.tolist(), strict=True)])


def test_umap_keeps_neighbours_that_principal_components_lose(vectors, near, laid_out):
    assert laid_out.done == laid_out.epochs == 500 and np.isfinite(laid_out.points).all()
    assert kept(laid_out.points, near) > 1.5 * kept(preview(vectors), near)


def test_the_preview_is_the_principal_components_and_leaves_its_input_alone(vectors):
    before = vectors.copy()
    points = preview(vectors)
    assert np.array_equal(vectors, before)
    assert points.min() == 0 and points.max() == pytest.approx(10) and points.dtype == np.float32
    centred = vectors - vectors.mean(0)
    best = np.linalg.svd(centred, full_matrices=False)[2][:2]
    for axis in (0, 1):
        assert abs(np.corrcoef(points[:, axis], centred @ best[axis])[0, 1]) > 0.999


def test_a_fit_stops_while_it_waits_or_within_an_epoch_and_keeps_where_it_was(vectors, near):
    layout = UmapLayout(preview(vectors))
    with projection._ONE_FIT:  # another one runs
        layout.run(near, stopping=lambda: True)
    assert layout.done == 0
    layout.run(near, stopping=lambda: layout.done >= 5)
    assert layout.done == 5 and not np.array_equal(layout.points, preview(vectors))


def test_fits_at_once_wait_for_each_other_and_the_same_seed_draws_the_same_picture_another_seed_another(vectors, near, laid_out):
    layouts = [UmapLayout(preview(vectors)) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda layout, seed: layout.run(near, seed), layouts, (SEED, SEED, 8)))
    assert [np.array_equal(layout.points, laid_out.points) for layout in layouts] == [True, True, False]
    assert np.isfinite(layouts[2].points).all()


def test_own_coordinates_are_stretched_into_the_square():
    assert scaled(np.array([[100.0, 5.0], [300.0, 5.0], [200.0, 5.0]])).tolist() == [[0, 0], [10, 0], [5, 0]]


def test_beyond_the_exact_limit_most_neighbours_are_still_found(vectors, monkeypatch):
    exact = NeighbourIndex(vectors).search(vectors, 5)
    monkeypatch.setattr("sbert_app.mapping.projection.EXACT_ROWS", 100)
    index = NeighbourIndex(vectors)
    found = index.search(vectors, 5)
    assert not index.exact
    assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(exact.rows.tolist(), found.rows.tolist(), strict=True)]) > 0.9


def test_many_rows_get_fewer_epochs_but_never_too_few():
    epochs = [UmapLayout(np.zeros((rows, 2), np.float32)).epochs for rows in (1, 2_000, 5_000, 10_000, 100_000)]
    assert epochs == [500, 500, 200, 100, 100]


def test_what_umap_compiles_is_kept_for_the_next_process():
    projection.warm_up()
    assert projection._compiled_epoch().stats.cache_path
