"""Import Gradio in half the time: it rewrites 81 type stubs for editors at every import, two seconds of work nobody here reads."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

MODULE, WRITER = "gradio.component_meta", "create_or_modify_pyi"


def skip_stubs() -> None:
    """Call before Gradio is first imported; later, or with another Gradio, it changes nothing."""
    if MODULE not in sys.modules:
        sys.meta_path.insert(0, _Finder())


def write_nothing(*_: Any) -> None:
    """Takes the place of Gradio's writer of stubs."""


class _Finder(MetaPathFinder):
    """Finds one module as Python does, and takes its writer away once it is imported. Used once."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def without_writer(module: ModuleType) -> None:
            execute(module)
            if hasattr(module, WRITER):
                setattr(module, WRITER, write_nothing)

        spec.loader.exec_module = without_writer  # type: ignore[method-assign]
        return spec
