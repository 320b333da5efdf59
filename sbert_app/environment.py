"""Read the settings from environment variables. Raises UserError for what cannot be meant."""

import os
import socket
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from sbert_app.errors import UserError
from sbert_app.quotas import read_quotas
from sbert_app.settings import ANY_ADDRESS, BASIC, HOSTED_LIMITS, OFF, Limits, Settings, one_of

YES, NO = ("1", "true", "yes"), ("0", "false", "no")


def settings_from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read `SBERT_STUDIO_*` and Gradio's address. In a Hugging Face Space (`SPACE_ID`), hosted is the default. Raises UserError."""
    env = dict(environment)  # what is read is taken out: nothing of ours may be left
    hosted = _flag(env, "SBERT_STUDIO_HOSTED", bool(env.get("SPACE_ID")))
    address, names = env.get("GRADIO_SERVER_NAME") or "127.0.0.1", _names(env.pop("SBERT_STUDIO_HOSTS", ""))
    hosts = tuple(name.rpartition("://")[2].partition("/")[0] for name in names)  # https://studio.example.org/ too
    if address in ANY_ADDRESS:
        hosts += socket.gethostname(), f"{socket.gethostname()}.local"
    quotas, device = env.pop("SBERT_STUDIO_QUOTAS", ""), env.pop("SBERT_STUDIO_DEVICE", "") or "auto"
    lent = device != "cpu" and env.get("SPACES_ZERO_GPU", "").lower() in YES and find_spec("spaces") is not None
    settings = Settings(
        home=_home(env.pop("SBERT_STUDIO_HOME", "")),
        device="cpu" if lent else device,
        precision=env.pop("SBERT_STUDIO_PRECISION", "") or "auto",
        engine=env.pop("SBERT_STUDIO_ENGINE", "") or "auto",
        hosted=hosted,
        allowed_models=_names(env.pop("SBERT_STUDIO_MODELS", "")),
        limits=HOSTED_LIMITS if hosted else Limits(),
        address=address,
        port=_port(env.get("GRADIO_SERVER_PORT", "")),
        space=hosted and bool(env.get("SPACE_ID")),
        mcp=_flag(env, "SBERT_STUDIO_MCP", False),
        metrics=_flag(env, "SBERT_STUDIO_METRICS", False),
        log=env.pop("SBERT_STUDIO_LOG", "") or "text",
        key=_key(env.pop("SBERT_STUDIO_KEY", "")),
        collections=_names(env.pop("SBERT_STUDIO_COLLECTIONS", "")),
        store_token=env.pop("SBERT_STUDIO_STORE_TOKEN", "").strip(),
        login=env.pop("SBERT_STUDIO_LOGIN", "") or OFF,
        users=Path(users).expanduser() if (users := env.pop("SBERT_STUDIO_USERS", "")) else None,
        quotas=read_quotas(quotas) if hosted else {},
        reset_minutes=_minutes(env.pop("SBERT_STUDIO_RESET", "")),
        hosts=hosts + _proxy_name(env.get("GRADIO_ROOT_PATH", "")),
        zero_gpu=lent,
    )
    if unknown := [name for name in env if name.startswith("SBERT_STUDIO_")]:
        raise UserError(f"There is no setting {unknown[0]}. All are in docs/settings.md.")
    if settings.users and settings.login != BASIC:
        raise UserError("SBERT_STUDIO_USERS lists who may log in, but nobody has to. Set SBERT_STUDIO_LOGIN=basic too.")
    return settings


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
    if text and not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise UserError(f"GRADIO_SERVER_PORT is {text!r}. It must be a number from 1 to 65535.")
    return int(text) if text else None


def _minutes(text: str) -> float:
    if text and not (text.isascii() and text.replace(".", "", 1).isdigit()):
        raise UserError(f"SBERT_STUDIO_RESET is {text!r}. It must be a number of minutes, such as 10.")
    return float(text or 0)


def _key(text: str) -> str:
    key = text.strip()
    if not key.isascii() or not key.isprintable() or " " in key or (text and not key):
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
        if path and not name and not path.startswith("/"):
            raise ValueError(path)
    except ValueError:
        raise UserError(
            f"GRADIO_ROOT_PATH is {path!r}. It must be a path like /app or an address like https://example.org/app."
        ) from None
    return (name,) if name else ()


def _flag(env: dict[str, str], name: str, default: bool) -> bool:
    value = env.pop(name, "").lower()
    one_of(name, value or NO[0], YES + NO)
    return value in YES if value else default
