"""Names and passwords from a file of hashes: right, wrong, unknown, and how often one may be wrong."""

import base64
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sbert_app import users as module
from sbert_app.errors import UserError
from sbert_app.users import MOST_OF_A_NAME, MOST_OF_AN_ADDRESS, MOST_OF_BOTH, PAUSE_SECONDS, SALT_BYTES, Users, hashed

PASSWORD, HERE = "correct horse", "10.0.0.1"
ANN, BOB = hashed(PASSWORD, b"a" * SALT_BYTES), hashed("another password", b"b" * SALT_BYTES)
ROOT = Path(__file__).parents[1]


@pytest.fixture
def now():
    return [1_000.0]


@pytest.fixture
def users(tmp_path, now):
    file = tmp_path / "users"
    file.write_text(f"ann:{ANN}\nbob:{BOB}\n")
    return Users(file, lambda: now[0])


@pytest.fixture
def quick(monkeypatch):
    """Without the fifth of a second: for tests of how often."""
    monkeypatch.setattr(module, "hashed", lambda password, salt: f"{base64.b64encode(salt).decode()}${password}")
    return lambda users: users._hashes.update(ann=f"AAAA${PASSWORD}", bob="AAAA$another password")


def test_right_wrong_and_unknown(users):
    assert users.check("ann", PASSWORD, HERE) and users.check("bob", "another password", HERE)
    assert not users.check("ann", "another password", HERE) and not users.check("eve", PASSWORD, HERE)
    assert not users.check("", "", HERE) and not users.check("ann", "", HERE) and not users.check("ann", "\ud800", HERE)
    lines = {hashed(PASSWORD, bytes([number]) * SALT_BYTES) for number in range(2)}
    assert len(lines) == 2 and not any(PASSWORD in line for line in lines)


def test_an_unknown_name_costs_the_same_work(users, monkeypatch):
    """No oracle by time: the one thing that takes long is done once for a known and once for an unknown name."""
    salts, original = [], hashed
    monkeypatch.setattr(module, "hashed", lambda password, salt: salts.append(salt) or original(password, salt))
    compared = []
    compare = module.hmac.compare_digest
    monkeypatch.setattr(module.hmac, "compare_digest", lambda a, b: compared.append((len(a), len(b))) or compare(a, b))
    for name in ("ann", "eve"):
        users.check(name, "wrong", HERE)
    assert len(salts) == 2 and {len(salt) for salt in salts} == {SALT_BYTES}
    assert compared[0] == compared[1]


def test_after_so_many_wrong_ones_even_the_right_one_waits(users, quick, now):
    quick(users)
    assert all(users.check("ann", PASSWORD, HERE) for _ in range(2 * MOST_OF_A_NAME)), "right ones are not counted"
    assert not any(users.check("ann", "wrong", HERE) for _ in range(MOST_OF_BOTH))
    with pytest.raises(UserError, match="Too many wrong passwords. Wait five minutes, then try again."):
        users.check("ann", PASSWORD, HERE)
    assert users.check("ann", PASSWORD, "10.0.0.2"), "nobody can lock a user out from elsewhere"
    assert users.check("bob", "another password", HERE)
    now[0] += PAUSE_SECONDS
    assert users.check("ann", PASSWORD, HERE)


@pytest.mark.parametrize(
    ("tried", "last"),
    [
        ([("eve", HERE)] * MOST_OF_BOTH, ("eve", "wrong", HERE)),
        ([(f"name {number}", HERE) for number in range(MOST_OF_AN_ADDRESS)], ("ann", PASSWORD, HERE)),
        ([("ann", f"10.0.1.{number}") for number in range(MOST_OF_A_NAME)], ("ann", PASSWORD, "10.0.2.1")),
    ],
    ids=["an unknown name", "an address with many names", "a name from everywhere"],
)
def test_unknown_names_many_names_and_many_addresses_are_stopped_too(users, quick, tried, last):
    quick(users)
    assert not any(users.check(name, "wrong", address) for name, address in tried)
    with pytest.raises(UserError):
        users.check(*last)


def test_many_at_once_get_no_further_than_one_after_the_other(users, monkeypatch):
    tried, hold = [], threading.Event()
    monkeypatch.setattr(module, "hashed", lambda *_: tried.append(1) or str(hold.wait(5)))

    def attempt(_):
        try:
            return users.check("ann", "wrong", HERE)
        except UserError:
            hold.set()  # somebody is refused while the others are still being checked
            return None

    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(attempt, range(30)))
    assert len(tried) == MOST_OF_BOTH == answers.count(False)


@pytest.mark.parametrize("text", ["", "ann", "ann:secret", "ann:$", "# a comment", "ann:!!!$x", f"ann:{ANN[:-4]}äöü="])
def test_another_file_or_none_is_refused_at_the_start(tmp_path, text):
    (tmp_path / "users").write_text(text)
    for path in (tmp_path / "users", tmp_path / "nowhere", None):
        with pytest.raises(UserError, match="SBERT_STUDIO_USERS must name a file with lines of"):
            Users(path)


def run(name: str, typed: list[str]) -> "subprocess.CompletedProcess[str]":
    """The command, with what is typed at its prompts."""
    code = f"import getpass, sys; typed = iter({typed!r}); getpass.getpass = lambda _: next(typed); sys.argv = ['x', {name!r}]"
    code += "; from sbert_app.users import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)


def test_the_command_makes_a_line(tmp_path):
    done = run("ann", [PASSWORD, PASSWORD])
    (tmp_path / "users").write_text(done.stdout)
    assert done.returncode == 0 and Users(tmp_path / "users").check("ann", PASSWORD, HERE)


@pytest.mark.parametrize(("name", "typed", "told"), [
    ("ann", ["short", "short"], "at least 10"), ("ann", [PASSWORD, "other words"], "twice"),
    ("a:b", [], "no colon"), ("", [], "Usage"),
])  # fmt: skip
def test_the_command_refuses_what_could_not_work(name, typed, told):
    done = run(name, typed)
    assert done.returncode == 2 and told in done.stderr and not done.stdout
