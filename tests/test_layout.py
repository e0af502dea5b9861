"""Where a file lies says what it may import; what lies in the wrong place is named here."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("schemas", "events", "services")
SOURCES = sorted(path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

MOST_OWN_FILES = 5
MOST_ROOMS = 30
SMALL = 25
MOST_SHARED_NAMES = 9

LIBRARIES = {
    "apprise": ("services/outbound/apprise_worker.py",),
    "cel": ("services/expressions/",),
    "cronsim": ("services/addons/plan/",),
    "cryptography": ("services/sandbox/", "services/addons/sources/"),
    "grafana_foundation_sdk": ("services/generate/dashboards/",),
    "helm_python": ("services/addons/helm/worker.py",),
    "jinja2": ("services/expressions/",),
    "_jsonnet": ("services/addons/render/",),
    "jsonpatch": ("services/sandbox/api/objects/",),
    "kubernetes_asyncio": ("events/kube/",),
    "nats": ("events/jetstream/",),
    "nkeys": ("events/jetstream/",),
    "opentelemetry": ("services/process/",),
    "prometheus_client": ("services/process/",),
    "requests": ("services/outbound/apprise_worker.py",),
    "pydantic": (
        "schemas/crds/", "services/process/", "services/outbound/", "services/provisioning/lifecycle/",
        "services/sandbox/settings.py", "services/generate/reference/",
    ),
    "rich": ("services/cli/",),
    "typer": ("services/cli/", "services/generate/reference/"),
}  # fmt: skip
"""The folders or files that may import a library."""

SANDBOX = ("services/sandbox/", "services/cli/", "services/__main__.py")
"""Who may import the sandbox: it stands for the world, and nothing that runs in the world depends on it."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, with the names that it takes of them."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{each.name}" for each in node.names)


def importers() -> dict[str, set[Path]]:
    """From each module to the files that import it or a name of it."""
    modules = {".".join(path.with_suffix("").parts) for path in SOURCES}
    found: dict[str, set[Path]] = defaultdict(set)
    for path in SOURCES:
        for name in imported(path):
            found[name if name in modules else name.rpartition(".")[0]].add(path)
    return found


def test_the_top_of_services_is_a_short_list():
    files = [path for path in SOURCES if path.parts[:-1] == ("services",) and path.name != "__init__.py"]
    folders = {path.parts[1] for path in SOURCES if path.parts[0] == "services" and len(path.parts) > 2}
    assert len(files) <= MOST_OWN_FILES, files
    assert len(files) + len(folders) <= MOST_ROOMS


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_is_imported_in_its_own_folders_alone(library):
    elsewhere = [
        str(path)
        for path in SOURCES
        if any(name.split(".")[0] == library for name in imported(path))
        and not str(path).startswith(LIBRARIES[library])
    ]
    assert elsewhere == []


def test_nothing_that_runs_in_the_world_imports_the_sandbox():
    inside = [
        str(path)
        for path in SOURCES
        if any(name.startswith("services.sandbox") for name in imported(path)) and not str(path).startswith(SANDBOX)
    ]
    assert inside == []


def test_a_small_file_with_one_importer_says_in_its_first_line_why_it_stands_alone():
    by = importers()
    small = [
        f"{path} <- {next(iter(by[module]))}"
        for path, module in ((path, ".".join(path.with_suffix("").parts)) for path in SOURCES)
        if len((ROOT / path).read_text().splitlines()) < SMALL
        and len(by[module]) == 1
        and path.name not in ("__init__.py", "__main__.py")
        and "so that" not in (ROOT / path).read_text().split("\n")[0]
    ]
    assert small == []


def public_types() -> dict[str, set[str]]:
    """From the name of a public class or type alias to the files that define it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in SOURCES:
        tree = tree_of(path)
        for node in tree.body:
            names = [node.name] if isinstance(node, ast.ClassDef) else _assigned(node)
            for name in names:
                if name[0].isupper() and not name.isupper():
                    found[name].add(str(path))
    return found


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def test_a_public_type_name_stands_in_one_module():
    shared = {name: sorted(paths) for name, paths in public_types().items() if len(paths) > 1}
    assert len(shared) <= MOST_SHARED_NAMES, shared


def test_tests_lie_where_their_sources_lie():
    mirrored = [
        path.relative_to(ROOT / "tests")
        for package in PACKAGES
        for path in (ROOT / "tests" / package).rglob("test_*.py")
    ]
    apart = {"services/crash", "services/entities", "services/leaks"}
    wrong = {str(path.parent) for path in mirrored if not (ROOT / path.parent).is_dir()} - apart
    assert wrong == set()
