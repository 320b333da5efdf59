"""Start SBERT Studio: settings -> workbench -> page -> launch."""

import logging
import os
import threading

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")


def main() -> None:
    """Serve the app until it is stopped. Address and port: GRADIO_SERVER_NAME and GRADIO_SERVER_PORT."""
    from sbert_app.services.workbench import Workbench
    from sbert_app.settings import settings_from_environment
    from sbert_app.ui.app import build_app, launch_options

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("bm25s", "httpx"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    bench = Workbench(settings_from_environment())
    threading.Thread(target=bench.warm_up, name="warm-up", daemon=True).start()
    build_app(bench).queue(max_size=64).launch(**launch_options(bench))


if __name__ == "__main__":
    main()
