"""Models on OpenVINO: the same results, from one conversion for all, and torch wherever that fails. Really converted, once."""

import logging
import os
import pickle
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from filelock import FileLock

from sbert_app.models.acceleration import PAYS, PROOF, Acceleration
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.files.finding import CROSS_ENCODER, DEFAULT_CROSS_ENCODER
from sbert_app.models.networks import NETWORK, ConversionError, network
from sbert_app.models.registry import Registry
from sbert_app.settings import Settings
from sbert_app.storage import read_object, write_object
from tests.damaging import flip

ODD = ["", "a", "ÄÖÜ 漢字 😀", "word " * 600, "\x00\x7f"]
# For a Python that begins with it: the connections that a conversion tries, and what stands for telemetry at its end.
WITNESS = """
import atexit, os, sys
from pathlib import Path
seen = []

def tell():
    if "sbert_app.models.networks" in sys.orig_argv:
        seen.append(f"telemetry: {sys.modules.get('openvino_telemetry', 'not refused')}")
        Path(__file__).with_name(f"{os.getpid()}.log").write_text(" ".join(seen))

sys.addaudithook(lambda event, args: seen.append(event) if event in ("socket.connect", "socket.getaddrinfo") else None)
atexit.register(tell)
"""


@pytest.fixture(scope="module")
def witness(tmp_path_factory) -> Path:
    """The folder that conversions take for a person's home, and what WITNESS writes in it."""
    folder = tmp_path_factory.mktemp("witness")
    (folder / "sitecustomize.py").write_text(WITNESS)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory, model_folder, witness) -> Path:
    """A data home's folder with both bundled models, converted under a witness. The encoder is asked for by two at once."""
    home = tmp_path_factory.mktemp("openvino")
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setenv("HOME", str(witness))
        patch.setenv("PYTHONPATH", str(witness))
        first, second = pool.map(lambda _: network("encoder", (model_folder,), home, threading.Event()), range(2))
        network("cross-encoder", (model_folder, CROSS_ENCODER), home, threading.Event())
    assert first == second and len(list(home.glob(f"*/{NETWORK}"))) == 2
    return home


@pytest.fixture
def fast(home, model_folder, cpu) -> Encoder:
    """The bundled encoder on OpenVINO: at once, as for a command, which lives for one job, if nothing is converted."""
    encoder = Encoder.from_folder(model_folder, cpu)
    Acceleration(home, cpu, converts=False).begin(encoder, (model_folder,))
    assert encoder.runs_on == "CPU, fp32, OpenVINO" and encoder.note == ""
    return encoder


def test_the_embeddings_are_those_of_torch(fast, encoder, sentences):
    texts = [*sentences[:100], *ODD]
    np.testing.assert_allclose(fast.encode(texts), encoder.encode(texts), atol=2e-6)
    assert fast.fingerprint == encoder.fingerprint
    for own, others in zip(fast.token_vectors(texts[:3]), encoder.token_vectors(texts[:3]), strict=True):
        assert own.words == others.words
        np.testing.assert_allclose(own.vectors, others.vectors, atol=2e-5)
    np.testing.assert_allclose(fast.leave_one_out(texts[0])[1], encoder.leave_one_out(texts[0])[1], atol=2e-6)


def test_only_batches_that_are_measured_with_their_padding_have_it_computed(fast, encoder, sentences, monkeypatch):
    """The paper compares batches of similar lengths with others, which sentences side by side would make equal."""
    unpacked = [np.arange(20), np.arange(20, 45)]
    monkeypatch.setattr("sbert_app.models.engine.engine.Packing", None)
    with pytest.raises(TypeError):
        fast.encode(sentences[:2])
    padded = fast.stream_batches(unpacked, lambda rows: fast.pad(fast.tokenize([sentences[row] for row in rows])))
    np.testing.assert_allclose(np.concatenate([vectors for _, vectors in padded]), encoder.encode(sentences[:45]), atol=2e-6)


def test_the_scores_are_those_of_torch(home, model_folder, cpu, sentences):
    cross = CrossEncoder.from_adapter(model_folder, CROSS_ENCODER, cpu)
    pairs = list(zip(sentences[:60], [*sentences[60:115], *ODD], strict=True))
    expected = cross.score(pairs)
    Acceleration(home, cpu, converts=False).begin(cross, (model_folder, CROSS_ENCODER))
    assert cross.engine.name == "OpenVINO"
    np.testing.assert_allclose(cross.score(pairs), expected, atol=5e-6)


def test_weights_are_given_up_and_read_again(fast, encoder):
    """Half the memory of a model: only what needs torch reads them again."""
    assert fast._transformer is None
    first = dict(encoder.transformer.named_parameters())
    assert all((first[name] == weight).all() for name, weight in fast.transformer.named_parameters())
    assert fast._transformer is not None and fast.on(fast.torch_engine).encode(["A cat."]).shape == (1, 384)


def test_several_threads_at_once_get_their_own_results(fast, encoder, sentences):
    parts = [sentences[i : i + 25] for i in range(0, 200, 25)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(fast.encode, parts))
    np.testing.assert_allclose(np.concatenate(results), encoder.encode(sentences[:200]), atol=2e-6)


def test_pooling_leaves_the_other_cores_to_the_other_batches(fast):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        inside = fast.engine.start(fast.pad([[101, 7592, 102]]), lambda tokens, _: torch.tensor(torch.get_num_threads()))()
        assert (inside.item(), torch.get_num_threads()) == (1, 2)
    finally:
        torch.set_num_threads(threads)


def test_a_job_that_began_on_torch_gives_every_core_a_batch_once_the_faster_engine_is_there(fast, sentences):
    model = fast.on(fast.torch_engine)
    stream = model.stream(sentences[:400])
    next(stream)
    model.use(fast.engine)
    assert max(len(fast.engine._running) for _ in stream) == fast.engine.ahead > 0


def test_a_process_that_converts_nothing_does_not_wait_for_one_that_converts(tmp_path, model_folder):
    assert network("encoder", (model_folder,), tmp_path, threading.Event(), converts=False) is None
    (lock,) = tmp_path.glob("*.lock")
    with ThreadPoolExecutor() as pool, FileLock(lock):
        asked = pool.submit(network, "encoder", (model_folder,), tmp_path, threading.Event(), converts=False)
        wait([asked], timeout=10)
        assert asked.done()
    assert asked.result() is None


def test_nothing_computes_after_a_stream_is_closed_and_a_batch_that_cannot_start_is_not_waited_for(fast, sentences):
    stream = fast.stream(sentences)
    next(stream)
    assert fast.engine._running
    stream.close()
    assert not fast.engine._running
    features = fast.pad([[101, 7592, 102]])
    with pytest.raises(KeyError):
        fast.engine.start({"input_ids": features["input_ids"]}, lambda tokens, _: tokens)
    assert not fast.engine._running and fast.engine.settle() == 0.0
    assert fast.encode(["A cat."]).shape == (1, 384)


def test_weights_that_are_being_read_when_the_engine_comes_are_given_up_too(tiny, cpu):
    model = Encoder.from_folder(tiny, cpu)
    reading, go_on = threading.Event(), threading.Event()

    def reader():
        reading.set()
        assert go_on.wait(20)
        return "the weights"

    model.reader = reader
    model.use(model.engine)
    with ThreadPoolExecutor(2) as pool:
        read = pool.submit(lambda: model.transformer)
        assert reading.wait(20)
        used = pool.submit(model.use, model.engine)
        wait([used], timeout=0.2)
        go_on.set()
        assert read.result() == "the weights" and used.result() is None
    assert model._transformer is None


SECOND_START = """
import pickle, sys
from pathlib import Path
from tests.models.test_acceleration import ODD, PAIRS, settings_of
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER, Registry

registry = Registry(settings_of(Path(sys.argv[1])), converts=False)
encoder, cross = registry.encoder(), registry.cross_encoder(DEFAULT_CROSS_ENCODER)
answers = encoder.encode(ODD), cross.score(PAIRS), [encoder.fingerprint, cross.fingerprint]
assert not {"transformers.modeling_utils", "peft"} & set(sys.modules), "what takes two seconds"
assert len(encoder.transformer.state_dict()) and len(cross.transformer.state_dict())
sys.stdout.buffer.write(pickle.dumps(answers))
"""
PAIRS = [("A cat.", "A dog."), ("A cat.", "Stocks fell.")]


def settings_of(home: Path) -> Settings:
    return Settings(home=home, device="cpu", precision="fp32", engine="auto")


def test_a_model_found_right_before_starts_without_transformers_models(home, tmp_path, encoder, model_folder):
    """What needs torch reads the weights then. Another processor's proof counts for nothing."""
    settings = settings_of(tmp_path / "home")
    shutil.copytree(home, settings.cache / "openvino", ignore=shutil.ignore_patterns(PROOF))
    registry = Registry(settings, converts=False)
    assert registry.acceleration.ready("encoder", (model_folder,)) is None
    first = registry.encoder(), registry.cross_encoder(DEFAULT_CROSS_ENCODER)
    assert {model.engine.name for model in first} == {"OpenVINO"}
    assert registry.encoder("new/dan").engine.name == registry.trainable().engine.name == "torch"
    done = subprocess.run([sys.executable, "-c", SECOND_START, settings.home], check=True, capture_output=True)
    embeddings, scores, fingerprints = pickle.loads(done.stdout)
    np.testing.assert_allclose(embeddings, encoder.encode(ODD), atol=2e-6)
    np.testing.assert_allclose(scores, first[1].score(PAIRS), atol=1e-6)
    assert fingerprints == [model.fingerprint for model in first] and fingerprints[0] == encoder.fingerprint
    assert registry.acceleration.ready("encoder", (model_folder,)) is not None
    for proof in settings.cache.glob(f"openvino/*/{PROOF}"):
        write_object(proof, read_object(proof) | {"on": "another processor"})
    assert registry.acceleration.ready("encoder", (model_folder,)) is None


def test_another_model_gets_another_network_and_one_with_a_changed_byte_is_deleted(home, tmp_path, model_folder):
    changed = Path(shutil.copytree(model_folder, tmp_path / "changed"))
    (changed / "config.json").write_text((changed / "config.json").read_text() + "\n")
    assert network("encoder", (changed,), home, threading.Event(), converts=False) is None
    copied = shutil.copytree(home, tmp_path / "openvino")
    path = network("encoder", (model_folder,), copied, threading.Event())
    flip(path.with_suffix(".bin"))
    assert network("encoder", (model_folder,), copied, threading.Event(), converts=False) is None
    assert not path.parent.exists()


def test_a_deleted_model_leaves_no_network_that_holds_its_weights(home, tiny, tmp_path):
    settings = settings_of(tmp_path / "home")
    networks = Path(shutil.copytree(home, settings.cache / "openvino"))
    before = set(networks.glob(f"*/{NETWORK}"))
    folder = Path(shutil.copytree(tiny, settings.models / "mine"))
    path = network("encoder", (folder,), networks, threading.Event())
    assert path is not None and path.exists()
    Registry(settings, converts=False).delete("mine")
    assert set(networks.glob(f"*/{NETWORK}")) == before


def test_what_does_not_convert_stays_on_torch_and_says_why(tmp_path, tiny, model_folder, cpu, encoder, caplog):
    broken = Path(shutil.copytree(tiny, tmp_path / "broken", ignore=shutil.ignore_patterns("config.json")))
    model = Encoder.from_folder(model_folder, cpu)
    acceleration = Acceleration(tmp_path / "openvino", cpu, patience=0)
    with caplog.at_level(logging.WARNING):
        acceleration.begin(model, (broken,))
        acceleration.wait()
    assert model.engine.name == "torch" and "OpenVINO, which is faster, cannot be used" in model.note
    assert "stays on torch" in caplog.text and not list((tmp_path / "openvino").glob("*/"))
    np.testing.assert_array_equal(model.encode(["A sentence."]), encoder.encode(["A sentence."]))


def test_a_network_of_another_model_is_not_used(home, model_folder, cpu):
    """What is computed is compared with torch before it is used, whatever the files claim."""
    model = Encoder.from_folder(model_folder, cpu)
    model.transformer.embeddings.word_embeddings.weight.data[:] = model.transformer.embeddings.word_embeddings.weight.data.flip(0)
    Acceleration(home, cpu, converts=False).begin(model, (model_folder,))
    assert model.engine.name == "torch" and "cosine" in model.note


def test_a_full_disk_leaves_nothing_half_written(small_disk, tiny):
    with pytest.raises(ConversionError, match="No space left|full"):
        network("encoder", (tiny,), small_disk / "openvino", threading.Event())
    assert not [path for path in (small_disk / "openvino").iterdir() if path.is_dir()]


def test_closing_stops_a_conversion(tmp_path, tiny, cpu, caplog):
    model = Encoder.from_folder(tiny, cpu)
    acceleration = Acceleration(tmp_path, cpu, patience=0)
    acceleration.begin(model, (tiny,))
    acceleration.close()
    assert not acceleration._threads[0].is_alive() and model.engine.name == "torch" and model.note == ""
    assert not list(tmp_path.glob(f"*/{NETWORK}")) and "stays on torch" not in caplog.text


def test_a_model_is_converted_once_no_job_runs(tmp_path, tiny, cpu):
    """Or where even the running job gains by it: by then it has said how long it will take."""
    model, others, seen = Encoder.from_folder(tiny, cpu), iter([False, False, True]), []

    def idle():
        seen.append(list(tmp_path.glob(f"*/{NETWORK}")))
        return next(others)

    acceleration = Acceleration(tmp_path, cpu, patience=0, idle=idle)
    acceleration.begin(model, (tiny,))
    acceleration.wait()
    assert model.engine.name == "OpenVINO" and seen == [[], [], []]
    again = Encoder.from_folder(tiny, cpu)
    acceleration = Acceleration(tmp_path / "busy", cpu, patience=0, idle=lambda: False)
    acceleration.begin(again, (tiny,))
    again.foresee(1.0, 3_600.0)
    acceleration.wait()
    assert again.engine.name == "OpenVINO"


def test_a_command_converts_before_the_rest_of_its_work_where_that_pays(
    tmp_path, model_folder, cpu, encoder, sentences, monkeypatch
):
    monkeypatch.setattr("sbert_app.models.acceleration.SETTLED", 0.0)
    monkeypatch.setitem(PAYS, True, 0.0)
    said: list[str] = []
    model = Encoder.from_folder(model_folder, cpu)
    acceleration = Acceleration(tmp_path, cpu, converts=False, tell=said.append)
    acceleration.begin(model, (model_folder,))
    np.testing.assert_allclose(model.encode(sentences), encoder.encode(sentences), atol=2e-6)
    assert model.engine.name == "OpenVINO" and model.foresee is None
    acceleration.convert_afterwards()
    assert len(said) == 1 and said[0].endswith("once: the rest will be faster")
    assert acceleration.ready("encoder", (model_folder,)) is not None


COMMAND = """
import sys
from sbert_app.cli.main import main
from sbert_app.models import acceleration

acceleration.WORTH[True] = float(sys.argv.pop(1))
acceleration.PAYS[True] = float("inf")  # not in the middle, however slow the machine
sys.exit(main())
"""


def test_a_command_converts_after_its_answer_what_the_next_one_gains_by(tmp_path, sentences):
    """Nothing after little work. The answer is on stdout before the line on stderr."""
    (tmp_path / "rows.txt").write_text("\n".join(sentences[:200]))
    env = os.environ | {"SBERT_STUDIO_HOME": str(tmp_path), "SBERT_STUDIO_ENGINE": "auto", "SBERT_STUDIO_DEVICE": "cpu"}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": env, "check": True}

    def encode(worth: float) -> list[str]:
        options = ["encode", tmp_path / "rows.txt", "--out", tmp_path / "out.npy"]
        lines = subprocess.run([sys.executable, "-c", COMMAND, f"{worth}", *options], **both).stdout.splitlines()
        return [line for line in lines if "->" in line or "Converting" in line]

    (answer,) = encode(1e9)
    assert "200 sentences" in answer and not list(tmp_path.glob(f"cache/openvino/*/{NETWORK}"))
    answer, said = encode(0.0)
    assert "200 sentences" in answer and said.endswith("once: the next command will be faster")
    assert len(list(tmp_path.glob(f"cache/openvino/*/{PROOF}"))) == 1
    assert len(encode(0.0)) == 1, "the second runs on OpenVINO from its first sentence"


CONVERT = """
import sys, threading
from pathlib import Path
from sbert_app.models.networks import network

network("encoder", (Path(sys.argv[1]),), Path(sys.argv[2]), threading.Event())
"""


def test_a_killed_conversion_leaves_nothing_that_computes_or_hinders_the_next(tmp_path, tiny):
    with subprocess.Popen([sys.executable, "-c", CONVERT, tiny, tmp_path]) as process:
        while not (children := psutil.Process(process.pid).children()):
            assert process.poll() is None
        process.kill()
    psutil.wait_procs(children, timeout=60)
    assert not any(child.is_running() for child in children) and not list(tmp_path.rglob(NETWORK))
    assert network("encoder", (tiny,), tmp_path, threading.Event()) is not None


def test_a_conversion_speaks_to_nobody(home, witness):
    """OpenVINO's converter comes with telemetry: here it is never imported, no connection is tried, no file left in the home."""
    assert [log.read_text() for log in witness.glob("*.log")] == ["telemetry: None"]
    assert sys.modules["openvino_telemetry"] is None, "the bundled encoder is converted in this process"
    assert not list(witness.glob("*intel*"))
