"""What is set from outside: read whole, or refused in one line."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sbert_app.environment import settings_from_environment
from sbert_app.errors import UserError
from sbert_app.settings import HOSTED_LIMITS

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("env", "hosted", "space"),
    [({}, False, False), ({"SPACE_ID": "a/b"}, True, True), ({"SPACE_ID": "a/b", "SBERT_STUDIO_HOSTED": "no"}, False, False)]
    + [({"SBERT_STUDIO_HOSTED": word}, True, False) for word in ("1", "true", "YES")]
    + [({"SBERT_STUDIO_HOSTED": word}, False, False) for word in ("0", "False", "no", "")],
)
def test_a_space_is_hosted_and_its_own_site_may_frame_it(env, hosted, space):
    settings = settings_from_environment(env)
    assert (settings.hosted, settings.limits is HOSTED_LIMITS, settings.space) == (hosted, hosted, space)


def test_what_is_asked_for_is_read_and_a_key_stays_out_of_logs():
    env = {"SBERT_STUDIO_LOG": "json", "SBERT_STUDIO_METRICS": "1", "SBERT_STUDIO_MCP": "Yes", "SBERT_STUDIO_KEY": " sk-1234 "}
    asked, usual = settings_from_environment(env), settings_from_environment({})
    assert (asked.log, asked.metrics, asked.mcp, asked.key) == ("json", True, True, "sk-1234") and "sk-1234" not in repr(asked)
    assert (usual.log, usual.metrics, usual.mcp, usual.key) == ("text", False, False, "")


def test_each_documented_variable_is_known_and_an_empty_one_is_none_at_all():
    names = re.findall(r"^\| `(SBERT_STUDIO_\w+)`", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert settings_from_environment(dict.fromkeys((*names, "GRADIO_SERVER_PORT"), "")) == settings_from_environment({})


def test_the_address_and_the_names_that_the_app_answers_to():
    env = {"GRADIO_SERVER_NAME": "192.168.1.5", "GRADIO_SERVER_PORT": "8000", "GRADIO_ROOT_PATH": "https://c.example/studio"}
    settings = settings_from_environment(env | {"SBERT_STUDIO_HOSTS": "a.example, https://b.example/,"})
    assert (settings.address, settings.port) == ("192.168.1.5", 8000)
    assert settings.hosts == ("a.example", "b.example", "c.example")


MISTAKES = {
    "SBERT_STUDIO_DEVICE": ["gpu"], "SBERT_STUDIO_PRECISION": ["fp16"], "SBERT_STUDIO_LOG": ["xml"], "SBERT_STUDIO_LOGN": ["basic"],
    "SBERT_STUDIO_HOSTED": ["maybe"], "SBERT_STUDIO_HOME": [__file__, "~nobody-of-this-name/studio", "a\0b"],
    "SBERT_STUDIO_KEY": [" ", "two words", "schlüssel"], "SBERT_STUDIO_USERS": ["users.txt"],
    "GRADIO_SERVER_PORT": ["http", "70000", "²"], "GRADIO_ROOT_PATH": ["http://[studio", "studio"],
}  # fmt: skip


@pytest.mark.parametrize(("variable", "value"), [(variable, value) for variable, values in MISTAKES.items() for value in values])
def test_a_mistake_names_the_variable(variable, value):
    with pytest.raises(UserError, match=variable):
        settings_from_environment({variable: value})


@pytest.fixture(scope="module")
def taken() -> Iterator[str]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield str(other.getsockname()[1])


@pytest.mark.parametrize(("variable", "value"), [("SBERT_STUDIO_DEVICE", "gpu"), ("GRADIO_SERVER_PORT", "taken")])
def test_a_mistake_is_one_line_and_status_2(tmp_path, taken, variable, value):
    env = os.environ | {"SBERT_STUDIO_HOME": str(tmp_path), variable: taken if value == "taken" else value}
    done = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    mistakes = [line for line in done.stderr.splitlines() if " INFO " not in line and "swigfaiss" not in line]
    assert done.returncode == 2 and len(mistakes) == 1 and mistakes[0].startswith("Error: "), done.stderr
    assert variable in mistakes[0] and "Traceback" not in done.stderr


def test_a_mistake_is_one_line_and_status_2_in_the_shell(shell, monkeypatch):
    monkeypatch.setenv("SBERT_STUDIO_PRECISION", "fp8")
    out, err = shell("models", status=2)
    assert (out, err) == ("", "Error: SBERT_STUDIO_PRECISION is 'fp8'. It must be one of auto, fp32, bf16.\n")
