"""The layers of the package: a file imports from above, never from below or beside."""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rebatch"
FILES = sorted(SOURCE.rglob("*.py"))

PURE = {"errors", "_call", "_growth", "_starts", "policies", "schedules", "rates", "noise"}
PLAN = {"_amount", "_run", "_rows", "_table", "_plan", "_course", "_update_times", "scaling"}
BASIS = {"rebatch", "_cores", *PURE, *PLAN}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "_cores": set(),
    "_call": {"errors"},
    "_growth": {"errors"},
    "_starts": {"errors"},
    "noise": {"errors"},
    "policies": {"errors", "_call", "_growth"},
    "schedules": {"errors", "_call", "_growth", "policies"},
    "rates": {"errors", "_call", "schedules"},
    "_amount": PURE,
    "_run": {"_amount", *PURE},
    "_rows": {"_amount", "_run", *PURE},
    "_table": {"_amount", "_run", "_rows", *PURE},
    "_plan": {"_amount", "_run", "_rows", "_table", *PURE},
    "_course": {"_amount", "_run", "_rows", "_table", *PURE},
    "_update_times": {"errors"},
    "scaling": {"_amount", "_plan", "_update_times", "errors"},
    "__init__": {"_plan", *PURE},
    "records": BASIS,
    "data": BASIS,
    "kernels": set(),
    "models": {"errors", "kernels"},
    "optim": {"data", *BASIS},
    "engine": {"records", "data", "optim", "kernels", *BASIS},
    "recipes": {"records", "data", "optim", "kernels", "models", "engine", *BASIS},
    "sweeps": {"records", "recipes", *BASIS},
    "report": {"records", *BASIS},
    "bench": {"records", "data", "optim", "models", "engine", "recipes", "sweeps", *BASIS},
    "probe": {"records", "data", "engine", "recipes", "report", *BASIS},
    "cli": {
        *("records", "data", "optim", "models", "engine", "recipes", "sweeps", "report", "bench"),
        *("probe", *BASIS),
    },
    "__main__": {"cli"},
    "integrations": {"data", "optim", *BASIS},
}
TORCH = {"data", "kernels", "models", "optim", "engine", "bench", "probe", "integrations"}


def modules(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The full names of what import statements name."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, "imports are absolute"
            deeper = node.module == "rebatch"
            yield from (
                f"{node.module}.{alias.name}" if deeper else node.module for alias in node.names
            )


def layer(module: str) -> str:
    """The layer of a module of ours; a public name of the package itself counts as `rebatch`."""
    first = module.split(".")[1] if "." in module else "rebatch"
    inside = (SOURCE / first).is_dir() or (SOURCE / f"{first}.py").exists()
    return first if inside else "rebatch"


def imports(file: Path, *, at_the_top: bool = False) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return set(modules(tree.body if at_the_top else ast.walk(tree)))


def ours(found: set[str]) -> set[str]:
    return {layer(module) for module in found if module.split(".")[0] == "rebatch"}


def others(found: set[str]) -> set[str]:
    first = {module.split(".")[0] for module in found}
    return first - {"rebatch"} - set(sys.stdlib_module_names)


def own_layer(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def named(file: Path) -> str:
    return str(file.relative_to(SOURCE))


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_file_imports_from_the_layers_above(file):
    own = own_layer(file)
    assert own in MAY_IMPORT, f"{own} is in no layer"
    assert ours(imports(file)) - {own} <= MAY_IMPORT[own]


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_file_is_at_most_400_lines_long(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("file", [f for f in FILES if own_layer(f) in PURE | PLAN], ids=named)
def test_the_pure_layers_need_the_standard_library_alone(file):
    assert others(imports(file)) == set()


@pytest.mark.parametrize("file", [f for f in FILES if own_layer(f) == "models"], ids=named)
def test_models_need_torch_alone(file):
    assert others(imports(file)) <= {"torch"}


@pytest.mark.parametrize("file", [f for f in FILES if own_layer(f) == "kernels"], ids=named)
def test_kernels_need_torch_and_triton_alone(file):
    assert others(imports(file)) <= {"torch", "triton"}


@pytest.mark.parametrize("file", [f for f in FILES if own_layer(f) == "cli"], ids=named)
def test_the_command_line_starts_without_torch(file):
    found = imports(file, at_the_top=True)
    assert others(found).isdisjoint({"torch", "numpy", "matplotlib"})
    assert ours(found).isdisjoint(TORCH)
