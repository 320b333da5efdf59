"""Settings from environment variables: data home, device, limits, hosting mode, address. Read once, at the start."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from sbert_app.errors import UserError
from sbert_app.quotas import Quotas, read_quotas

DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("auto", "fp32", "bf16")
ENGINES = ("auto", "torch")
OFF, HUGGING_FACE, BASIC = LOGINS = ("off", "huggingface", "basic")
ANY_ADDRESS = ("0.0.0.0", "::", "[::]")  # noqa: S104 - compared, not bound
YES, NO = ("1", "true", "yes"), ("0", "false", "no")
MEGABYTE = 1024 * 1024
ASSETS = Path(__file__).resolve().parents[1] / "assets"  # shipped with the app: examples, adapter, styles, scripts


@dataclass(frozen=True)
class Limits:
    """Limits on files, jobs, time and memory. Exceeding one gives a message that says what to do instead."""

    file_bytes: int = 256 * MEGABYTE
    unpacked_bytes: int = 1024 * MEGABYTE
    rows: int = 1_000_000
    columns: int = 200
    cells: int = 20_000_000
    cell_characters: int = 10_000_000
    reading_seconds: int = 600
    reading_bytes: int = 3072 * MEGABYTE  # of memory, while a file is read
    sentence_characters: int = 20_000
    row_characters: int = 50_000  # of a text in a corpus, about 8,000 words: searched in passages
    list_sentences: int = 100  # per list, when two lists are compared
    hits: int = 1_000
    trained_examples: int = 100_000_000  # examples times epochs of one run
    waiting_runs: int = 32
    raced_sentences: int = 10_000  # a larger corpus is sampled at random
    race_seconds: int = 600  # of cross-encoder computing
    jobs: int = 64  # heavy jobs of all visitors, waiting or running
    jobs_a_visitor: int = 64  # per connection
    jobs_an_address: int = 64  # per network address, which a whole office may share
    requests: int = 256  # to /v1, being read, waiting or encoded
    requests_an_address: int = 256
    job_seconds: int = 24 * 3600  # of one heavy job, waiting not counted
    corpora_in_memory: int = 16
    corpora_a_visitor: int = 16  # per connection; beyond, its oldest is dropped
    memory_bytes: int = 12 * 1024 * MEGABYTE  # of all corpora and tables in memory
    idle_seconds: int = 6 * 3600


HOSTED_LIMITS = Limits(
    file_bytes=20 * MEGABYTE,
    unpacked_bytes=100 * MEGABYTE,
    rows=50_000,
    jobs_a_visitor=1,
    jobs_an_address=16,
    requests=64,
    requests_an_address=16,
    job_seconds=900,
    cells=2_500_000,
    reading_seconds=12,
    reading_bytes=300 * MEGABYTE,
    corpora_in_memory=64,
    corpora_a_visitor=4,
    memory_bytes=6 * 1024 * MEGABYTE,
    idle_seconds=1800,
    trained_examples=200_000,
    waiting_runs=8,
    raced_sentences=2_000,
    race_seconds=20,
)


@dataclass(frozen=True)
class Settings:
    """Folders and permissions. `hosted` means: many visitors, no local paths, nothing kept on disk."""

    home: Path
    device: str = "auto"
    precision: str = "auto"
    engine: str = "torch"  # "auto", the environment's default: OpenVINO on a CPU, once a model is converted
    hosted: bool = False
    allowed_models: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    address: str = "127.0.0.1"
    port: int | None = None  # None: the first free port from 7860
    hosts: tuple[str, ...] = ()  # host names the app answers to, besides those of this machine
    mcp: bool = False  # offer the endpoints as Model Context Protocol tools too
    key: str = field(default="", repr=False)  # that clients of /v1 must send; "": none
    collections: tuple[str, ...] = ()  # addresses of collections that are offered; hosted: the only ones that can be opened
    store_token: str = field(default="", repr=False)  # for Milvus; "": none
    login: str = OFF
    users: Path | None = None  # the file of those who may log in, where login is BASIC
    quotas: Quotas = field(default_factory=dict)  # of a hosted app
    reset_minutes: float = 0.0  # without a key or a touch, after which a hosted page begins anew; 0: never
    temporary: bool = False  # the configured home is not writable: this one is deleted when the app ends

    def __post_init__(self) -> None:
        _one_of("SBERT_STUDIO_DEVICE", self.device, DEVICES)
        _one_of("SBERT_STUDIO_PRECISION", self.precision, PRECISIONS)
        _one_of("SBERT_STUDIO_ENGINE", self.engine, ENGINES)
        _one_of("SBERT_STUDIO_LOGIN", self.login, LOGINS)

    @property
    def models(self) -> Path:
        return self.home / "models"

    @property
    def runs(self) -> Path:
        return self.home / "runs"

    @property
    def corpora(self) -> Path:
        return self.home / "corpora"

    @property
    def cache(self) -> Path:
        return self.home / "cache"


def settings_from_environment(env: Mapping[str, str] = os.environ) -> Settings:
    """Read `SBERT_STUDIO_*` and Gradio's address. In a Hugging Face Space (`SPACE_ID`), hosted is the default. Raises UserError."""
    hosted = _flag(env, "SBERT_STUDIO_HOSTED", bool(env.get("SPACE_ID")))
    address, hosts = env.get("GRADIO_SERVER_NAME") or "127.0.0.1", _names(env.get("SBERT_STUDIO_HOSTS", ""))
    if address in ANY_ADDRESS:
        hosts += socket.gethostname(), f"{socket.gethostname()}.local"
    return Settings(
        home=_home(env.get("SBERT_STUDIO_HOME", "")),
        device=env.get("SBERT_STUDIO_DEVICE") or "auto",
        precision=env.get("SBERT_STUDIO_PRECISION") or "auto",
        engine=env.get("SBERT_STUDIO_ENGINE") or "auto",
        hosted=hosted,
        allowed_models=_names(env.get("SBERT_STUDIO_MODELS", "")),
        limits=HOSTED_LIMITS if hosted else Limits(),
        address=address,
        port=_port(env.get("GRADIO_SERVER_PORT", "")),
        mcp=_flag(env, "SBERT_STUDIO_MCP", False),
        key=_key(env.get("SBERT_STUDIO_KEY", "")),
        collections=_names(env.get("SBERT_STUDIO_COLLECTIONS", "")),
        store_token=env.get("SBERT_STUDIO_STORE_TOKEN", "").strip(),
        login=env.get("SBERT_STUDIO_LOGIN") or OFF,
        users=Path(env["SBERT_STUDIO_USERS"]).expanduser() if env.get("SBERT_STUDIO_USERS") else None,
        quotas=read_quotas(env.get("SBERT_STUDIO_QUOTAS", "")) if hosted else {},
        reset_minutes=_minutes(env.get("SBERT_STUDIO_RESET", "")),
        hosts=hosts + _proxy_name(env.get("GRADIO_ROOT_PATH", "")),
    )


def _home(path: str) -> Path:
    """The folder; "": the platform's user data folder, or if that is unknown a relative path, which `homes.prepare` rejects."""
    if not path:
        try:
            from platformdirs import user_data_path  # not on a bare GPU machine

            return user_data_path("sbert-studio", appauthor=False)
        except RuntimeError:
            return Path("~")
    try:
        home = Path(path).expanduser().resolve()
    except (RuntimeError, OSError, ValueError) as error:
        raise UserError(f"SBERT_STUDIO_HOME is {path!r}, which cannot be a folder: {error}.") from None
    if home.is_file():
        raise UserError(f"SBERT_STUDIO_HOME is {path!r}, which is a file. It must be a folder.")
    return home


def _port(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise UserError(f"GRADIO_SERVER_PORT is {text!r}. It must be a number from 1 to 65535.")
    return int(text)


def _minutes(text: str) -> float:
    if text and not (text.isascii() and text.replace(".", "", 1).isdigit()):
        raise UserError(f"SBERT_STUDIO_RESET is {text!r}. It must be a number of minutes, such as 10.")
    return float(text or 0)


def _key(text: str) -> str:
    key = text.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UserError(
            "SBERT_STUDIO_KEY cannot be sent in a header. It must be of ASCII letters, digits and signs, without blanks."
        )
    return key


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _proxy_name(path: str) -> tuple[str, ...]:
    """The host name of the proxy in front of the app, if GRADIO_ROOT_PATH is a full address."""
    try:
        name = urlsplit(path).hostname
    except ValueError:
        raise UserError(f"GRADIO_ROOT_PATH is {path!r}. It must be a path or an address like https://example.org/app.") from None
    return (name,) if name else ()


def _flag(env: Mapping[str, str], name: str, default: bool) -> bool:
    value = env.get(name, "").lower()
    _one_of(name, value or NO[0], YES + NO)
    return value in YES if value else default


def _one_of(variable: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UserError(f"{variable} is {value!r}. It must be one of {', '.join(choices)}.")
