"""Settings: data home, device, limits, hosting mode, address. `environment` reads them, once, at the start."""

from dataclasses import dataclass, field
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.quotas import Quotas

OFF, HUGGING_FACE, BASIC = LOGINS = ("off", "huggingface", "basic")
ANY_ADDRESS = ("0.0.0.0", "::", "[::]")  # noqa: S104 - compared, not bound
MEGABYTE = 1024 * 1024
ASSETS = Path(__file__).resolve().parents[1] / "assets"  # shipped with the app: examples, adapter, styles, scripts


@dataclass(frozen=True)
class Limits:
    """Limits on files, jobs, time and memory. Exceeding one gives a message that says what to do instead."""

    file_bytes: int = 256 * MEGABYTE
    unpacked_bytes: int = 1024 * MEGABYTE
    rows: int = 1_000_000
    columns: int = 1_000
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
    space: bool = False  # on a Space of Hugging Face, whose site shows the app in a frame
    mcp: bool = False  # offer the endpoints as Model Context Protocol tools too
    metrics: bool = False  # answer /metrics
    log: str = "text"
    key: str = field(default="", repr=False)  # that clients of /v1 must send; "": none
    collections: tuple[str, ...] = ()  # addresses of collections that are offered; hosted: the only ones that can be opened
    store_token: str = field(default="", repr=False)  # for Milvus; "": none
    zero_gpu: bool = False  # ZeroGPU lends a GPU for seconds; `device`, of this process, is the CPU
    login: str = OFF
    users: Path | None = None  # the file of those who may log in, where login is BASIC
    quotas: Quotas = field(default_factory=dict)  # of a hosted app
    reset_minutes: float = 0.0  # without a key or a touch, after which a hosted page begins anew; 0: never
    temporary: bool = False  # the configured home is not writable: this one is deleted when the app ends

    def __post_init__(self) -> None:
        one_of("SBERT_STUDIO_DEVICE", self.device, ("auto", "cpu", "cuda"))
        one_of("SBERT_STUDIO_PRECISION", self.precision, ("auto", "fp32", "bf16"))
        one_of("SBERT_STUDIO_ENGINE", self.engine, ("auto", "torch"))
        one_of("SBERT_STUDIO_LOG", self.log, ("text", "json"))
        one_of("SBERT_STUDIO_LOGIN", self.login, LOGINS)

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


def one_of(variable: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise UserError unless the value is one of these."""
    if value not in choices:
        raise UserError(f"{variable} is {value!r}. It must be one of {', '.join(choices)}.")
