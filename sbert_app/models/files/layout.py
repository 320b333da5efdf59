"""Read and write the settings files of a sentence-transformers model folder, in both dialects."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.wording import short

FILES = (".json", ".safetensors", ".txt", ".model")
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".pickle")
DEFAULT_MAX_LENGTH = 512
POOLINGS = ("mean", "max", "cls")  # computed in models/engine/forward
SHOWN_CHARACTERS = 80  # of a model name in a message
CODES = "poly_codes"  # the folder in an encoder's folder that makes it a poly-encoder
POLY = "poly-encoder"
WORDS = "sbert-studio-words"  # the model_type of encoders over word vectors, which only this app opens
MODULES = ("Transformer", "Pooling", "Dense", "Normalize")  # in the order in which they compute
FLAG, FLAGS = "pooling_mode_", {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}  # of the older dialect
WITH_MODULES = ("1_Pooling", "sentence_bert_config.json", "config_sentence_transformers.json")  # all need modules.json


@dataclass(frozen=True)
class Layout:
    """The settings around the transformer: length limit, pooling, dense layers, normalising, prompts."""

    pooling: str = "mean"
    normalize: bool = False
    max_length: int | None = None
    lower_case: bool = False
    transformer_path: str = ""
    prompts: dict[str, str] = field(default_factory=dict)
    note: str = ""
    dense: tuple[str, ...] = field(default=(), repr=False)  # folders of the dense layers after pooling


def read_layout(folder: Path, name: str) -> Layout:
    """Read `modules.json` and its files; without it, mean pooling and a note. Raises UserError if damaged or not supported."""
    if not (folder / "modules.json").exists():
        if any((folder / part).exists() for part in WITH_MODULES):
            raise damaged(name, "modules.json is missing")
        return Layout(note="Plain transformers model: mean pooling was added, it was not trained to compare sentences.")
    try:
        layout = _layout(folder, name)
    except (AttributeError, KeyError, TypeError) as error:
        raise damaged(name, "modules.json or a file it names has unexpected content") from error
    limit = layout.max_length
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise damaged(name, f"sentence_bert_config.json sets max_seq_length to {limit!r}")
    return layout


def _layout(folder: Path, name: str) -> Layout:
    listed = [(module["type"].rsplit(".", 1)[-1], "" + module["path"]) for module in read_json(folder / "modules.json", name)]
    modules, kinds = dict(listed), [kind for kind, _ in listed]
    if "Transformer" not in modules or not set(kinds) <= set(MODULES) or kinds != sorted(kinds, key=MODULES.index):
        raise UserError(
            f"The model {quoted(name)} is built from the modules {', '.join(kinds) or 'none'}. "
            f"This app supports {', '.join(MODULES)}, in this order: choose another model."
        )
    sentence_bert = read_json(folder / modules["Transformer"] / "sentence_bert_config.json", name)
    prompts = read_json(folder / "config_sentence_transformers.json", name).get("prompts") or {}
    pooling = read_json(folder / modules["Pooling"] / "config.json", name) if "Pooling" in modules else {"pooling_mode": "mean"}
    return Layout(
        pooling=_pooling(name, pooling),
        normalize="Normalize" in modules,
        max_length=sentence_bert.get("max_seq_length"),
        lower_case=bool(sentence_bert.get("do_lower_case")),
        transformer_path=modules["Transformer"],
        prompts={key: "" + text for key, text in prompts.items() if text},
        dense=tuple(path for kind, path in listed if kind == "Dense"),
    )


def _pooling(model: str, config: dict[str, Any]) -> str:
    """The pooling in either dialect: `pooling_mode: "mean"` or `pooling_mode_mean_tokens: true`."""
    mode = config.get("pooling_mode")
    modes = [mode] if isinstance(mode, str) else list(mode or [])
    if not modes:
        flags = [key.removeprefix(FLAG) for key, value in config.items() if key.startswith(FLAG) and value is True]
        modes = [FLAGS.get(flag, flag) for flag in flags]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise UserError(
            f"The model {quoted(model)} pools by {' + '.join(modes) or 'nothing'}. Must be one of {', '.join(POOLINGS)}."
        )
    return modes[0]


def check_files(folder: Path, name: str) -> None:
    """Raise UserError for weights other than safetensors (a pickle can run code), or a folder with a file's name."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    if folders := [path for path in files if path.suffix in FILES and path.is_dir()]:  # transformers would use another tokenizer
        raise damaged(name, f"{folders[0].name} is a folder")
    if (folder / "model.safetensors").exists() or (folder / "model.safetensors.index.json").exists():
        return
    if pickles := [path.name for path in files if path.suffix in PICKLES]:
        raise UserError(
            f"The model {quoted(name)} has its weights as a pickle ({pickles[0]}), which can run code when opened. "
            "Convert it to model.safetensors, or choose another model."
        )
    raise UserError(f"The model folder {quoted(name)} has no weights: model.safetensors is missing. Save the model again.")


def write_layout(folder: Path, layout: Layout, dim: int, max_length: int) -> None:
    """Write the module files in the dialect that all sentence-transformers versions read. dim: before the dense layers."""
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), *(("Dense", path) for path in layout.dense)]
    modules += [("Normalize", f"{len(modules)}_Normalize")] if layout.normalize else []
    listed = [(path, f"sentence_transformers.models.{name}") for name, path in modules]
    numbered = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(listed)]
    write_json(folder / "modules.json", numbered)
    for _, path in modules[1:]:
        (folder / path).mkdir(exist_ok=True)
    flags = {f"{FLAG}{name}": layout.pooling == mode for name, mode in FLAGS.items()} | {f"{FLAG}mean_sqrt_len_tokens": False}
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": dim} | flags)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": layout.lower_case})
    shared = {"prompts": layout.prompts, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    write_json(folder / "config_sentence_transformers.json", shared)


def read_json(path: Path, name: str) -> Any:
    """The file's content, {} if it does not exist. Raises UserError with the model's name if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(name, f"{path.name}: {first_line(error)}") from error


def kind_of(folder: Path, name: str) -> str:
    """The kind of the model in a folder. Raises UserError if its config.json is damaged, or if there is no model in it."""
    if not any((folder / file).exists() for file in ("config.json", "modules.json")):
        raise UserError(
            f"The folder {quoted(name)} holds no model: it has neither config.json nor modules.json. "
            "Choose a folder that a model was saved in."
        )
    architectures = read_config(folder, name).get("architectures") or [""]
    if not isinstance(architectures, list) or not isinstance(architectures[0], str):
        raise damaged(name, "config.json does not name an architecture")
    if architectures[0].endswith("ForSequenceClassification"):
        return "cross-encoder"
    return POLY if (folder / CODES).is_dir() else "encoder"


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """The content of config.json, {} if it does not exist. Raises UserError unless it is an object."""
    config = read_json(folder / "config.json", name)
    if not isinstance(config, dict):
        raise damaged(name, "config.json does not hold an object")
    return config


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def damaged(name: str, reason: str) -> UserError:
    """The error to raise for a damaged model folder."""
    return UserError(f"The model {quoted(name)} is damaged ({reason}). Delete its folder or save the model again.")


def quoted(name: str) -> str:
    """A name for a message: quoted, control characters escaped, cut to SHOWN_CHARACTERS."""
    return repr(short(name, SHOWN_CHARACTERS))


def first_line(error: Exception) -> str:
    """The first line of an error's text, short enough for a message."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:200].rstrip(".")


def length_limit(limit: int | None, tokenizer: Any, config: Any) -> int:
    """Most tokens per sentence: the folder's limit, at most what the tokenizer and the model's positions allow."""
    positions = getattr(config, "max_position_embeddings", None) or DEFAULT_MAX_LENGTH
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # these count positions from padding_idx + 1
    return int(min(limit or tokenizer.model_max_length, tokenizer.model_max_length, positions))
