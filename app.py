"""Start SBERT Studio: settings -> homes -> workbench -> page -> launch, and end it when a signal comes."""

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from gradio import Blocks

    from sbert_app.runtime.workbench import Workbench
    from sbert_app.settings import Settings

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

# Seconds: the first page and its score come sooner where nothing competes with them for the processor.
WARM_UP_DELAY, PAUSE_AFTER_FIRST_PAGE, LONGEST_PAUSE = 1.5, 5.0, 30.0
SWEEP_SECONDS = 60  # between two looks for what nobody needs any more
ENDING_SECONDS = 3  # for the work of visitors to stop and keep what it has
LAST_SECONDS = 4.5  # after which the process ends whatever happens

log = logging.getLogger(__name__)


def main() -> int:
    """Serve the app until it is told to end. A mistake in the settings is one line on stderr and exit status 2."""
    if sys.argv[1:]:
        sys.stderr.write("Settings are environment variables: docs/settings.md. For commands: python -m sbert_app --help\n")
        return 2
    from sbert_app.environment import settings_from_environment
    from sbert_app.errors import UserError
    from sbert_app.homes import prepare
    from sbert_app.watching import log_as

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    try:
        settings = settings_from_environment()
        log_as(settings.log, settings.hosted)
        serve(prepare(settings))
    except UserError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2


def leave(*_: Any) -> NoReturn:
    """A signal came: leave whatever the main thread is doing. A second signal ends the process at once."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise SystemExit(0)


def serve(settings: "Settings") -> NoReturn:
    """Open the app and wait for a signal. Raises UserError where its address is taken, or of another machine."""
    from sbert_app.errors import UserError
    from sbert_app.homes import clean_uploads
    from sbert_app.runtime.workbench import Workbench, warm_up
    from sbert_app.ui.gradio_changes import bound_heads, log_in_one_line, no_stubs, speak_english, use_lean_pages

    os.environ["GRADIO_TEMP_DIR"] = f"{tempfile.gettempdir()}/gradio"  # uploads end with the process
    try:
        socket.create_server((settings.address, settings.port or 0)).close()
    except OSError as error:
        raise UserError(f"Cannot serve as GRADIO_SERVER_NAME and GRADIO_SERVER_PORT say: {error.strerror}.") from None
    with no_stubs():
        from sbert_app.ui.app import build_app, launch_options

    if settings.mcp and find_spec("mcp") is None:
        raise UserError("MCP needs a package, in an environment of its own: see docs/automation.md. Or unset SBERT_STUDIO_MCP.")
    if settings.metrics and find_spec("prometheus_client") is None:
        raise UserError("Metrics need one more package: pip install prometheus_client. Or unset SBERT_STUDIO_METRICS.")
    bench = Workbench(settings)
    bound_heads()
    log_in_one_line()
    speak_english()
    use_lean_pages()
    page = build_app(bench)
    warming = threading.Timer(WARM_UP_DELAY, warm_up, [bench, lambda: wait_for_a_page(bench)])
    warming.daemon = True
    warming.start()
    no_proxy(settings.address)
    try:
        options = launch_options(bench) | {"server_name": settings.address, "server_port": settings.port}
        page.launch(prevent_thread_lock=True, **options)
    except (OSError, ImportError) as error:  # httpx lacks a package for a proxy of the kind SOCKS
        raise UserError(f"Cannot serve at {settings.address}:{settings.port or '7860 to 7959'}: {error}") from None
    try:
        while True:
            time.sleep(SWEEP_SECONDS)  # a signal wakes the main thread
            bench.sweep()
            clean_uploads()
    finally:
        end(page, bench)


def no_proxy(address: str) -> None:
    """Gradio asks its own server whether it answers: not by way of the proxy that a company's machine is set to."""
    for name in ("no_proxy", "NO_PROXY"):
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), "127.0.0.1", "localhost", address]))


def wait_for_a_page(bench: "Workbench") -> None:
    """Wait until the first page is open and shows its score, or for a while."""
    deadline = time.monotonic() + LONGEST_PAUSE
    while not len(bench.sessions) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(PAUSE_AFTER_FIRST_PAGE)


def end(page: "Blocks", bench: "Workbench") -> NoReturn:
    """Let visitors' work stop and keep what it has, then end, whoever is still connected and whatever still computes.

    A run in training can be resumed from its last checkpoint after the next start. Python's own way out would wait for each thread,
    and abort where one computes meanwhile.
    """
    from sbert_app.homes import clean

    last = threading.Timer(LAST_SECONDS, os._exit, (0,))
    last.daemon = True
    last.start()
    log.info("ending")
    bench.lines.active.close()
    patience = time.monotonic() + ENDING_SECONDS
    while any(page._queue.active_jobs) and time.monotonic() < patience:
        time.sleep(0.05)
    clean()
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
