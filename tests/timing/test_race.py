"""The race on the real small models: fair turns, honest clocks, the right answer."""

from contextlib import contextmanager, nullcontext
from itertools import combinations
from threading import Lock

import numpy as np
import pytest

from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.models.words.vectors import AverageWordVectors
from sbert_app.timing import measurements, race
from sbert_app.timing.lane import Lane, finish
from sbert_app.vectors import unit_rows


@pytest.fixture(scope="module")
def models(shared_bench):
    return shared_bench.registry.encoder(), shared_bench.registry.cross_encoder(DEFAULT_CROSS_ENCODER)


@pytest.fixture
def clock(hand_clock, monkeypatch):
    monkeypatch.setattr("sbert_app.timing.lane.time", hand_clock)
    return hand_clock


def counted(batches, each=lambda: None):
    """A pass of batches with these numbers of items; `each` is called for each of them."""

    def begin():
        for items in batches:
            each()
            yield items

    return begin


def test_a_lane_counts_each_pass_and_starts_again_and_once_reset_has_measured_nothing():
    lane = Lane(6, counted([1, 2, 3]), nullcontext)
    list(finish(lane))
    assert (lane.done, len(lane.passes)) == (6, 1)
    lane.advance()
    assert lane.done == 6  # of the first pass; the second has begun
    assert (lane.throughput().items, lane.throughput().turns[0].batches) == (7, 4)
    lane.reset()
    assert (lane.done, lane.seconds, lane.throughput()) == (0, 0, None)


def test_turns_end_after_a_batch_and_hold_what_was_done(clock):
    lane = Lane(100, counted([1] * 100, lambda: clock.sleep(0.02)), nullcontext)
    list(lane.turn(0.05))
    (turn,) = lane.turns
    assert turn.items == 3 and turn.seconds == pytest.approx(0.06)
    assert lane.seconds == turn.seconds


def test_waiting_for_others_is_not_counted_as_work(clock):
    @contextmanager
    def busy():
        clock.sleep(5)
        yield

    lane = Lane(3, counted([1] * 3, lambda: clock.sleep(0.25)), busy)
    list(finish(lane))
    assert lane.waited % 5 == 0 < lane.waited and lane.seconds == pytest.approx(0.75)


def test_the_race_finds_the_pair_that_brute_force_finds_in_turns_under_one_lock(models, sentences, monkeypatch):
    monkeypatch.setattr(race, "TURN_SECONDS", 0.1)
    encoder, cross = models
    chosen, lock, turns = list(dict.fromkeys(sentences))[:120], Lock(), []

    @contextmanager
    def device():
        assert lock.acquire(blocking=False), "two lanes at once"
        yield
        lock.release()

    run = race.Race(encoder, cross, chosen, device)
    assert len([*run.warm_up()]) > 1 and not run.sbert.turns
    for state in run.run(60):
        turns.append((len(run.sbert.turns), len(run.cross.turns)))
        if state.answer and min(turns[-1]) >= 3:
            break
    assert min(turns[-1]) >= 3 and max(abs(s - c) for s, c in turns) <= 2  # neither runs ahead
    enough = run.cross.seconds + 0.1
    *_, state = run.run(enough)
    embeddings = unit_rows(encoder.encode(chosen))
    scores = np.triu(embeddings @ embeddings.T, 1)
    assert (state.answer.pair.row1, state.answer.pair.row2) == np.unravel_index(scores.argmax(), scores.shape)
    assert state.sbert.done == 120 and state.answer.seconds > state.sbert.seconds > 0
    assert state.cross.total == 7_140 and 0 < state.cross.done < 7_140
    assert run.cross.seconds >= enough


@pytest.mark.parametrize(("sentences", "most"), [(20, 1_000), (300, 100), (5_000, 64)])
def test_pairs_are_drawn_once_each_and_point_upwards(sentences, most):
    pairs = [*map(tuple, race.sample_pairs(sentences, most).tolist())]
    assert len(pairs) == len(set(pairs)) == min(most, sentences * (sentences - 1) // 2)
    assert all(0 <= row1 < row2 < sentences for row1, row2 in pairs)
    assert pairs == [*map(tuple, race.sample_pairs(sentences, most).tolist())]


def test_small_runs_score_every_pair_as_the_models_do(models, sentences):
    encoder, cross = models
    chosen = list(dict.fromkeys(sentences))[:12]
    *_, last = measurements.small_run(encoder, cross, chosen, nullcontext)
    assert last.sentences == 12
    pairs = list(combinations(chosen, 2))
    assert np.abs(last.cross_scores - cross.score(pairs)).max() < 0.02
    embeddings = unit_rows(encoder.encode(chosen))
    expected = [embeddings[chosen.index(a)] @ embeddings[chosen.index(b)] for a, b in pairs]
    assert np.abs(last.sbert_scores - expected).max() < 1e-5
    assert last.cross_seconds > 0 and last.sbert_seconds > 0


@pytest.mark.parametrize(("sentences", "rate", "expected"), [(1_000, 500, [10, 30, 63]), (1_000, 1, [10, 30]), (25, 500, [10, 25])])
def test_the_sizes_fit_the_time(sentences, rate, expected):
    assert measurements.sizes(sentences, rate, 4) == expected


def test_searches_are_timed_in_both_indexes(models, sentences, monkeypatch):
    monkeypatch.setattr(measurements, "SIZES", (100, 2_000))
    embeddings = unit_rows(models[0].encode(sentences[:300]))
    small, large = measurements.query_timings(embeddings, nullcontext)
    assert (small.rows, small.synthetic, large.rows, large.synthetic) == (100, False, 2_000, True)
    assert large.exact_seconds > small.exact_seconds > 0
    assert min(small.recall, large.recall) > 0.9


def test_average_word_vectors_are_the_mean_of_the_input_vectors(encoder, sentences):
    chosen = [*sentences[:5], "one"]
    ((rows, vectors),) = AverageWordVectors(encoder).stream(chosen)
    weights = encoder.transformer.get_input_embeddings().weight.detach().numpy()
    expected = [weights[ids[1:-1]].mean(0) for ids in encoder.tokenize(chosen)]  # without [CLS] and [SEP]
    assert rows.tolist() == list(range(6))
    assert np.abs(vectors - np.stack(expected)).max() < 1e-5
    ((_, none),) = AverageWordVectors(encoder).stream(["", "a"])
    assert not none[0].any() and none[1].any()


def test_without_smart_batching_the_embeddings_are_the_same(encoder, sentences):
    found = np.concatenate([vectors for _, vectors in measurements.plain_stream(encoder, sentences[:40], 16)])
    assert np.abs(found - encoder.encode(sentences[:40])).max() < 1e-5


def unit_vectors(count, seed=0):
    return unit_rows(np.random.default_rng(seed).standard_normal((count, 16), dtype=np.float32))


@pytest.mark.parametrize("count", [2, 3, 40, 41])
@pytest.mark.parametrize("block", [1, 7, 40, 1_000])
def test_the_closest_pair_equals_brute_force(count, block, monkeypatch):
    monkeypatch.setattr(race, "BLOCK", block)
    rows = unit_vectors(count, seed=count)
    scores = np.triu(rows @ rows.T, 1) + np.tril(np.full((count, count), -2.0))
    found = race.closest_pair(rows)
    assert (found.row1, found.row2) == np.unravel_index(scores.argmax(), scores.shape)
    assert found.score == pytest.approx(scores.max(), abs=1e-6)
    assert found.ties == 1


def test_of_equal_pairs_the_first_is_given_and_all_are_counted(monkeypatch):
    monkeypatch.setattr(race, "BLOCK", 4)
    rows = unit_vectors(20)
    rows[[3, 9, 15]] = rows[9]
    found = race.closest_pair(rows)
    assert (found.row1, found.row2, found.ties) == (3, 9, 3)
