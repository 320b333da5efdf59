"""Start SBERT Studio: settings -> workbench -> page -> launch."""

import logging
import os
import threading

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

WARM_UP_DELAY = 1.5  # seconds: the first page comes sooner where nothing competes with it for the processor


def main() -> None:
    """Serve the app until it is stopped. Address and port: GRADIO_SERVER_NAME and GRADIO_SERVER_PORT."""
    from sbert_app.runtime.workbench import close, open_workbench, warm_up
    from sbert_app.settings import settings_from_environment
    from sbert_app.ui.app import build_app, launch_options

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("bm25s", "httpx"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    bench = open_workbench(settings_from_environment())
    page = build_app(bench)
    warming = threading.Timer(WARM_UP_DELAY, warm_up, [bench])
    warming.daemon = True
    warming.start()
    try:
        page.launch(**launch_options(bench))
    finally:
        close(bench)


if __name__ == "__main__":
    main()
