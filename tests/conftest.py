"""What all tests share: an isolated home, no network, and the real small model loaded once."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("SBERT_STUDIO_ENGINE", "torch")  # to convert models takes 20 s a home: tests/models/test_acceleration.py does
if "PYTEST_XDIST_WORKER" in os.environ:  # one thread each: workers that all take every core wait for each other
    os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

import csv
import gzip
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:  # a bare GPU machine runs tests/cuda without most of these packages: each fixture imports what it gives
    from sbert_app.labelled.examples import Examples
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.engine.hardware import Hardware
    from sbert_app.runtime.session import Session
    from sbert_app.runtime.workbench import Workbench

# The same examples in every run of the suite, so that a commit is red or green by what it changed; `make fuzz` draws new ones.
settings.register_profile("default", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("fuzz", max_examples=2_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# Test files that one worker of pytest-xdist takes, in this order: the longest first, and those that compile UMAP together.
TAKEN_TOGETHER = {
    "trainings": "training running fine_tune",
    "umap": "cluster_map map projection fuzz ending",
    "races": "timing",
    "conversions": "acceleration",
}
GROUPS = {f"test_{name}.py": group for group, names in TAKEN_TOGETHER.items() for name in names.split()}


# Browser tests whose file stays on one worker, for they share a page; each test of the other files goes to whichever is free.
SHARING = "map_names map corpus timing evaluation journeys similarity take_home judging tour duplicates"
SHARE_A_PAGE = [f"test_{name}.py" for name in SHARING.split()]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser tests last: until then no process serves an app beside its tests, and their imports and models are loaded."""
    order = list(dict.fromkeys((*GROUPS, "test_accessibility.py", *SHARE_A_PAGE)))
    places = {name: place for place, name in enumerate(order)}
    items.sort(key=lambda item: (item.path.parent.name == "browser", places.get(item.path.name, len(order))))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Schedule by GROUPS, all other tests by file. (`--dist loadgroup` of pytest-xdist 3.8 does nothing with pytest 9.2.)"""
    from xdist.scheduler import LoadFileScheduling

    class ByGroup(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            if file.startswith("tests/browser/"):  # those that need a second app together
                return "hosted" if "hosted" in nodeid else file if Path(file).name in SHARE_A_PAGE else nodeid
            return GROUPS.get(Path(file).name, file)

    config.option.loadscopereorder = False  # it would put the groups with few tests, which are the longest, last
    return ByGroup(config, log)


@pytest.fixture(scope="session")
def model_folder() -> Path:
    from sbert_app.models.files.finding import bundled_folder

    folder = bundled_folder()
    assert folder is not None
    return folder


@pytest.fixture(scope="session")
def encoder(model_folder: Path, cpu: "Hardware") -> "Encoder":
    """The bundled model in fp32 on the CPU."""
    from sbert_app.models.encoder import Encoder

    return Encoder.from_folder(model_folder, cpu, "all-MiniLM-L6-v2")


@pytest.fixture(scope="session")
def shallow_folder(model_folder: Path, cpu: "Hardware", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled model without its last three layers of six: for training, and for "another model", at half the price."""
    from sbert_app.models.encoder import Encoder

    encoder, folder = Encoder.from_folder(model_folder, cpu), tmp_path_factory.mktemp("models") / "shallow"
    encoder.transformer.encoder.layer = encoder.transformer.encoder.layer[:3]
    encoder.transformer.config.num_hidden_layers = 3
    encoder.save(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model of one layer and 32 dimensions with random weights: where what a model knows does not matter."""
    from tests.attacks.small_home import tiny_model

    tiny_model(folder := tmp_path_factory.mktemp("models") / "tiny")
    return folder


@pytest.fixture(scope="session")
def cross_folder(shallow_folder: Path, cpu: "Hardware", tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make the folder of a cross-encoder over the shallow model: its labels, its card, and what config.json says more.

    Its head is seeded and means nothing, but its logits are about 3, so that a sigmoid cannot be overlooked.
    """
    import torch

    from sbert_app.models.cross_encoder import CrossEncoder

    bases: dict[int, Path] = {}

    def make(target: Path, labels: int = 1, card: str = "", **config: Any) -> Path:
        if labels not in bases:
            torch.manual_seed(0)
            cross = CrossEncoder.untrained(shallow_folder, cpu, labels)
            torch.nn.init.normal_(cross.transformer.classifier.weight)
            torch.nn.init.constant_(cross.transformer.classifier.bias, 3.0)
            cross.save(folder := tmp_path_factory.mktemp("cross"))
            (folder / "README.md").unlink()
            bases[labels] = folder
        shutil.copytree(bases[labels], target, copy_function=os.link)
        content = json.loads((target / "config.json").read_text())
        (target / "config.json").unlink()  # it is shared with the other folders
        (target / "config.json").write_text(json.dumps(content | config))
        if card:
            (target / "README.md").write_text(card)
        return target

    return make


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """The example tickets: real text that is always there."""
    with (Path(__file__).parents[1] / "assets" / "examples" / "support_tickets.csv").open(encoding="utf-8", newline="") as file:
        return [row["text"] for row in csv.DictReader(file)]


@pytest.fixture(scope="session")
def cpu() -> "Hardware":
    from sbert_app.models.engine.hardware import choose_hardware

    return choose_hardware("cpu", "fp32")


@pytest.fixture(scope="session")
def scored() -> "Examples":
    """120 scored pairs of the project's own, 0..1."""
    from tests.cuda import place

    return place.scored(120)


@pytest.fixture
def short_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 7 in short turns, and little to measure after a race in this process."""
    from sbert_app.timing import experiment, measurements, race

    monkeypatch.setattr(experiment, "CHECK_SECONDS", 0.3)
    monkeypatch.setattr(race, "PRODUCT_ROWS", 400)
    monkeypatch.setattr(measurements, "FIRST_SIZES", (5, 15))
    monkeypatch.setattr(measurements, "SIZES", (200, 2_000))
    monkeypatch.setattr(measurements, "TURN_SECONDS", 0.1)


@pytest.fixture
def bench(tmp_path: Path, shared_bench: "Workbench") -> "Workbench":
    """A workbench with a home of its own; the examples, which take two seconds to encode, are those of the shared one."""
    bench = _workbench(tmp_path / "home")
    bench.examples = shared_bench.examples
    return bench


@pytest.fixture(scope="session")
def shared_bench(tmp_path_factory: pytest.TempPathFactory) -> "Workbench":
    """One workbench for tests that leave nothing behind in it."""
    return _workbench(tmp_path_factory.mktemp("home"))


@pytest.fixture
def session(shared_bench: "Workbench") -> "Session":
    """A visitor of the shared workbench."""
    return shared_bench.sessions.open()


def _workbench(home: Path) -> "Workbench":
    from sbert_app.runtime.workbench import Workbench
    from sbert_app.settings import Settings

    return Workbench(Settings(home=home, device="cpu"))


class HandClock:
    """Stands for the module `time` in a module under test: a test moves its hands."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def hand_clock() -> HandClock:
    return HandClock()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte. Skips the test where this user may not mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file for a test; a name in .gz is compressed."""

    def write(name: str, content: str | bytes) -> Path:
        data = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") and not data.startswith(b"\x1f\x8b") else data)
        return path

    return write


@pytest.fixture(scope="session")
def bundled_models() -> dict[Any, Any]:
    """The bundled models that a command in this process has loaded, by kind, name and hardware."""
    return {}


@pytest.fixture
def shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, bundled_models: dict[Any, Any]
) -> Callable[..., tuple[str, str]]:
    """Run a command of the shell in this process, with a home of its own: what it writes to stdout and to stderr.

    A bundled model is loaded by the first command that needs it, and not again by each.
    """
    from sbert_app.cli.main import main
    from sbert_app.models.registry import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER, Registry

    load_now = Registry._load

    def load_once(registry: Registry, of: type, name: str) -> Any:
        if name not in (DEFAULT_ENCODER, DEFAULT_CROSS_ENCODER):
            return load_now(registry, of, name)
        key = of, name, registry.hardware
        if key not in bundled_models:
            bundled_models[key] = load_now(registry, of, name)
        return bundled_models[key]

    monkeypatch.setattr(Registry, "_load", load_once)
    monkeypatch.setenv("SBERT_STUDIO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SBERT_STUDIO_DEVICE", "cpu")

    def run(*args: object, status: int = 0) -> tuple[str, str]:
        monkeypatch.setattr("sys.argv", ["sbert_app", *map(str, args)])
        returned = main()
        out, err = capsys.readouterr()
        assert returned == status, err
        assert "Traceback" not in err
        return out, err

    return run
