"""Users who log in by a password: a file with a line `name:hash` for each. `python -m sbert_app.users NAME` makes such a line."""

import base64
import getpass
import hashlib
import hmac
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.quotas import Counts

SALT_BYTES, KEY_BYTES, LEAST_CHARACTERS = 16, 64, 10
PAUSE_SECONDS = 300  # in which so many wrong passwords are allowed: for a name from one address, for a name, from an address
MOST_OF_BOTH, MOST_OF_A_NAME, MOST_OF_AN_ADDRESS = 5, 50, 20


def hashed(password: str, salt: bytes) -> str:
    """scrypt with 16 MB of memory, about a fifth of a second; salt and result in base64."""
    key = hashlib.scrypt(password.encode(errors="replace"), salt=salt, n=2**14, r=8, p=5, dklen=KEY_BYTES)
    return f"{base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


class Users:
    """Checks names and passwords of a file, which is read once."""

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        """Raises UserError if the file cannot be read, or holds something else."""
        try:
            lines = path.read_text(encoding="utf-8").split() if path else []
            self._hashes = {name: value for name, _, value in (line.partition(":") for line in lines)}
            sizes = {tuple(len(base64.b64decode(part)) for part in value.split("$")) for value in self._hashes.values()}
            if sizes != {(SALT_BYTES, KEY_BYTES)}:
                raise ValueError("it has other lines, or none")
        except (OSError, ValueError) as error:
            what = f"of '{path}': {error}" if path else "it is not set"
            needed = "must name a file with lines of `python -m sbert_app.users NAME`"
            raise UserError(f"SBERT_STUDIO_USERS {needed}; {what}.") from None
        self._wrong, self._lock = Counts(PAUSE_SECONDS, clock), threading.Lock()
        self._nobody = hashed("", os.urandom(SALT_BYTES))

    def check(self, name: str, password: str, address: str) -> bool:
        """Whether this is the password; a name that does not exist takes as long. Raises UserError after too many wrong ones."""
        key = hashlib.sha256(name.encode(errors="replace")).digest()  # a name may be long
        limits = {(key, address): MOST_OF_BOTH, (key, None): MOST_OF_A_NAME, (None, address): MOST_OF_AN_ADDRESS}
        with self._lock:  # counted as wrong before it is checked: many at once get no further than one after the other
            counts = [(self._wrong.of(key), most) for key, most in limits.items()]
            if any(count.amount >= most for count, most in counts):
                raise UserError("Too many wrong passwords. Wait five minutes, then try again.")
            for count, _ in counts:
                count.amount += 1
        value = self._hashes.get(name, self._nobody)
        right = hmac.compare_digest(hashed(password, base64.b64decode(value.partition("$")[0])), value) and name in self._hashes
        if right:
            with self._lock:
                for count, _ in counts:
                    count.amount -= 1
        return right


def main() -> int:
    """Ask for a password, and print the line of this user."""
    name = " ".join(sys.argv[1:])
    if not name.isprintable() or name[:1] in ("", "-") or {":", " "} & {*name}:
        sys.stderr.write("Usage: python -m sbert_app.users NAME >> FILE. A name has no blanks and no colon.\n")
        return 2
    with suppress(EOFError):
        password = getpass.getpass(f"Password of {name}: ")
        if len(password) >= LEAST_CHARACTERS and password == getpass.getpass("Once more: "):
            sys.stdout.write(f"{name}:{hashed(password, os.urandom(SALT_BYTES))}\n")
            return 0
    sys.stderr.write(f"Error: type the same password twice, of at least {LEAST_CHARACTERS} characters.\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
