"""The house keeps its shape: imports go downward, torch and gradio stay where they belong, functions fit a screen."""

import ast
import re
import sys
from collections import Counter
from dataclasses import fields
from functools import cache
from pathlib import Path

from packaging.specifiers import SpecifierSet
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from sbert_app.settings import HOSTED_LIMITS, MEGABYTE, Limits

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "sbert_app").rglob("*.py"))
TABS = ("similarity", "search", "duplicates", "map", "fine_tune", "timing", "evaluation")
# From top to bottom; a module may import from its own line and from lines below. Everything may import errors.
ORDER = [
    {"__main__"},
    {"ui.app", "cli"},
    {"ui.arrival"},
    {f"ui.{tab}" for tab in TABS},
    {"ui.header"},
    {"ui.corpus"},
    {"ui.kit", "ui.guard", "ui.login", "ui.gradio_changes"},
    {"jobs", "serve"},
    {"corpus_map", "grid"},
    {"runtime"},
    {"runs"},
    {"training", "timing"},
    {"labelled", "labelling"},
    {"bulk"},
    {"collections"},
    {"corpus", "models"},
    {"tables", "evaluation", "mapping", "explain"},
    {"environment", "homes", "settings", "quotas", "users", "step", "storage", "vectors", "wording"},
    {"watching"},
    {"errors"},
]
PACKAGES = {"__init__", "ui"}  # their __init__ says what they are and imports nothing
ALLOWED = {"torch": {"models", "training", "runs", "timing"}, "gradio": {"ui"}, "sentence_transformers": set()}
PURE = ("view", "chart", "page")  # how modules of a tab end that turn values into html and figures: gradio is not needed for that
MOST_FILES = 18  # in a folder
LEAST_LINES, MOST_LINES = 60, 220
# A module is one idea of 60 to 220 lines. These are smaller: no further one may be, and some may still go to a neighbour.
SMALL = ["errors"]


def layer(module: str) -> int | None:
    """The line of ORDER that a module stands in, None where it stands in none."""
    return next((i for i, names in enumerate(ORDER) for name in names if f"{module}.".startswith(f"{name}.")), None)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> list[str]:
    """Every module a file imports, at the top, inside functions and for type checking."""
    modules = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return modules


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "sbert_app").with_suffix("").parts).removesuffix(".__init__")


def tab_of(module: str) -> str:
    """The tab whose folder a module is in, "" for others."""
    parts = module.split(".")
    return parts[1] if parts[0] == "ui" and len(parts) > 2 and parts[1] in TABS else ""


def breach(own: str, module: str) -> str:
    """Why module `own` must not import `module`, "" where it may."""
    head = module.split(".")[0]
    if head == "gradio" and own.startswith("ui.") and own.endswith(PURE):
        return f"{own} makes html or a figure: it needs no gradio"
    if (tab := tab_of(own)) and (other := tab_of(module.removeprefix("sbert_app."))) and tab != other:
        return f"{own} imports {module} of another tab"
    if head in ALLOWED and own.split(".")[0] not in ALLOWED[head]:
        return f"{own} must not import {head}"
    mine, theirs = layer(own), layer(module.removeprefix("sbert_app.")) if head == "sbert_app" else None
    above = mine is not None and theirs is not None and theirs < mine
    return f"{own} imports {module}, which lies above it" if above else ""


def test_imports_go_downward():
    assert [text for path in FILES for module in imports(path) if (text := breach(name_of(path), module))] == []


def test_every_module_has_its_place_in_the_order():
    assert [path for path in FILES if name_of(path) in PACKAGES and imports(path)] == []
    modules = {name_of(path) for path in FILES} - PACKAGES
    assert [own for own in sorted(modules) if layer(own) is None] == [], "in no line of ORDER: put them where they belong"


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The groups of modules that import each other, directly or through others."""
    modules = sorted(graph)
    matrix = csr_matrix([[other in graph[module] for other in modules] for module in modules])
    _, group = connected_components(matrix, connection="strong")
    groups = [{module for module, own in zip(modules, group, strict=True) if own == number} for number in set(group)]
    return [members for members in groups if len(members) > 1]


def test_only_types_escape_html():
    by_hand = {name: [name_of(path) for path in FILES if name in imports(path)] for name in ("html", "markupsafe.escape")}
    # A figure is sent as JSON: plotly reads tags and entities in its texts, which are str. A mend takes entities out of texts.
    assert by_hand == {"html": ["corpus.mending"], "markupsafe.escape": ["ui.kit.html"]}


def test_no_modules_import_each_other():
    graph = {name_of(path): {module.removeprefix("sbert_app.") for module in imports(path)} for path in FILES}
    packages = {name_of(path) for path in FILES if path.name == "__init__.py"}
    # `from package import part` names the package too, which is no import of what its __init__ gathers.
    for own, others in graph.items():
        others -= {package for package in packages if f"{own}.".startswith(f"{package}.")}
    assert circles(graph) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]


def test_the_rule_catches_a_breach():
    assert breach("corpus.vector_index", "sbert_app.jobs.search.searching") and breach("errors", "sbert_app.settings")
    forbidden = {"jobs.search.job": "gradio", "corpus.vector_index": "torch.nn", "models.x": "sentence_transformers"}
    assert all(breach(own, module) for own, module in forbidden.items())
    assert breach("ui.map.tab", "sbert_app.ui.search.view") and breach("ui.map.view", "gradio")
    assert not breach("ui.map.tab", "sbert_app.ui.kit.html") and not breach("ui.map.tab", "gradio")
    assert not breach("jobs.search.job", "sbert_app.corpus.vector_index") and not breach("models.encoder", "torch")


def test_folders_stay_small():
    for folder in {path.parent for path in FILES}:
        assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST_FILES, folder


def test_files_and_functions_stay_short():
    files = [ROOT / "app.py", *FILES]
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES if not path.name.startswith("__")}
    assert [name for name, count in lines.items() if count > MOST_LINES] == [], "split them by idea"
    assert [name for name, count in lines.items() if count < LEAST_LINES and name not in SMALL] == [], (
        "put them where they are used"
    )
    assert [name for name in SMALL if lines.get(name, MOST_LINES) >= LEAST_LINES] == [], "these are gone, or no longer small"
    functions = ((path, node) for path in files for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef))
    long = [f"{path.name}: {node.name}" for path, node in functions if node.end_lineno - node.lineno >= 60]
    assert long == [], "longer than a screen"


def test_every_class_has_a_name_of_its_own():
    names = Counter(node.name for path in FILES for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_every_file_says_first_what_it_is():
    assert [path for path in FILES if not ast.get_docstring(tree_of(path))] == []


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]  # what a person reads


def test_the_pages_name_commands_that_exist_and_all_of_them():
    from sbert_app.jobs import JOBS

    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    commands = {job.command for job in JOBS if job.command} | {"index"}
    named = set()
    for page in PAGES:
        code = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", page.read_text(encoding="utf-8"), re.S))
        assert set(re.findall(r"\bmake ([\w-]+)", code)) <= targets, page
        here = set(re.findall(r"python -m sbert_app ([\w-]+)", code))
        assert here <= commands, page
        named |= here
    assert named == commands, "docs/automation.md shows every command"


def test_the_pages_link_to_files_and_headings_that_exist():
    def anchors(text: str) -> set[str]:
        return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.+)", text, re.M)}

    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for link, anchor in re.findall(r'(?:\]\(|(?:src|srcset)=")([^)"#:]*)(?:#([^)]+))?[)"]', text):
            target = page.parent / link if link else page
            assert target.exists(), f"{page.name} links to {link}"
            assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), f"{page.name} links to {link}#{anchor}"


def test_each_proof_on_the_page_of_security_is_a_test():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "security.md").read_text(encoding="utf-8")))
    files = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 20 and named - set(re.findall(r"^def (test_\w+)", files, re.M)) == set()


def test_the_page_of_settings_has_every_variable_and_limit():
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    source = "".join((ROOT / "sbert_app" / name).read_text(encoding="utf-8") for name in ("settings.py", "environment.py"))
    assert set(re.findall(r"SBERT_STUDIO_[A-Z_]+", source)) == set(re.findall(r"SBERT_STUDIO_[A-Z_]+", page))
    for limit in fields(Limits):
        unit = MEGABYTE if limit.name.endswith("_bytes") else 1
        local, hosted = (getattr(limits, limit.name) // unit for limits in (Limits(), HOSTED_LIMITS))
        assert re.search(rf"^\| `{limit.name}` \| .+ \| {local:,} \| {hosted:,} \|$", page, re.M), limit.name


def test_readme_tells_the_truth_about_versions():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "requirements.txt").read_text(), re.M))
    assert f"sdk_version: {pinned['gradio']}" in readme
    assert len(re.search(r"short_description: (.+)", readme).group(1)) <= 60
    assert (ROOT / ".ci" / "run").read_text().strip().endswith("make test")


def test_the_range_of_torch_holds_what_make_and_what_a_space_installs():
    def line(name: str) -> str:
        return re.search(r"^torch(\S+)$", (ROOT / name).read_text(), re.M).group(1)

    here, space = (line(name).removeprefix("==") for name in ("constraints.txt", "pre-requirements.txt"))
    allowed = SpecifierSet(line("requirements.txt"))
    assert here in allowed and space in allowed
    assert f"<={here}" in str(allowed), "pip alone would take another version than make"


def test_everything_imported_is_pinned():
    pinned, constrained, for_scale = (
        {re.split(r"==|\[", line)[0].lower().replace("-", "_") for line in (ROOT / name).read_text().splitlines() if "==" in line}
        for name in ("requirements.txt", "constraints.txt", "requirements-scale.txt")
    )
    known = {"faiss": "faiss_cpu", "sklearn": "scikit_learn", "umap": "umap_learn", "grpc": "grpcio"}
    tree = {module.split(".")[0] for path in [ROOT / "app.py", *FILES] for module in imports(path)}
    third_party = tree - set(sys.stdlib_module_names) - {"sbert_app"}
    on_request = {"prometheus_client"}  # for /metrics, which is off until it is asked for
    assert "prometheus_client==" in (ROOT / "requirements-dev.txt").read_text()
    assert {known.get(name, name) for name in third_party} <= pinned | constrained | for_scale | on_request
