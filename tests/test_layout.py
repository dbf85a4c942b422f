"""Rules about the source tree that import contracts cannot express."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.resources import files
from pathlib import Path

import grimp
import pytest

from leakgauge import catalog

SOURCE = Path(str(files("leakgauge")))
SUFFIXES = (".py", ".jinja", ".js")
LONGEST_CHAIN = 18


def files_of(*places: str) -> list[Path]:
    """All source files of some packages and modules."""
    paths = (path for place in places for path in ((SOURCE / place).rglob("*"), [SOURCE / f"{place}.py"]))
    return sorted(path for found in paths for path in found if path.suffix in SUFFIXES and path.is_file())


REPORT = files_of("report")
FRAMEWORK = files_of(
    "report",
    "cli",
    "parameter_search",
    "runner",
    "api",
    "verdict",
    "promise_tests",
    "exposure",
    "plan",
    "sweep",
    "catalog",
    "draft",
    "plan_schema",
    "catalog_entries",
)
ENGLISH = {  # names that are also words, and what they mean there; as a whole string they are still refused
    "a": "the article",
    "blind": "guessing without a look at the release",
    "reference": "rows that an attacker has, an argument of audit_model",
    "repeat": "numpy.repeat, and the verb",
    "shadows": "models trained like the audited one, an argument of audit_model",
    "strong": "the HTML element",
}


def central_names() -> set[str]:
    """Names of domains, of attacks, and of numbers that attacks compute."""
    return {
        name
        for domain in catalog.all_domains()
        for name in (domain.name, *catalog.module_names(domain.attacks_package), *domain.studied)
    }


def further_names() -> set[str]:
    """Names of knowledge, and of what releases are good for and cost, as domains declare them."""
    terms = ((one.knowledge_terms, one.utility, one.spending) for one in catalog.all_domains())
    return {name for declared in terms for mapping in declared for name in mapping}


def text_constants(path: Path) -> Iterator[str]:
    """Every string in a Python file; a file of another kind is one string."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def texts(code: str) -> Iterator[str]:
    """The strings and identifiers of a program, without comments and docstrings, which may give examples."""
    tree = ast.parse(code)
    docstrings = {
        node.body[0].value  # type: ignore[attr-defined]
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    }
    for node in ast.walk(tree):
        if node not in docstrings:
            fields = (
                getattr(node, field, None) for field in ("id", "attr", "arg", "name", "module", "value")
            )
            yield from (text for text in fields if isinstance(text, str))


def names_in(code: str) -> set[str]:
    """The names of domains, attacks and studied numbers that are words of a string or identifier."""
    known = "|".join(sorted(central_names() - set(ENGLISH), key=len, reverse=True))
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{known})(?![A-Za-z0-9])")
    return {name for text in texts(code) for name in pattern.findall(text)}


def words(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text(encoding="utf-8")))


def unmistakable(names: Iterable[str]) -> set[str]:
    """Names that are no English words: whoever writes them means them."""
    return {name for name in names if "_" in name}


def relative(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", FRAMEWORK, ids=relative)
def test_framework_names_no_domain_attack_or_number(path):
    assert central_names().isdisjoint(text_constants(path))
    assert unmistakable(central_names()).isdisjoint(words(path))
    if path.suffix == ".py":
        assert not names_in(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "code",
    [
        'if verdict.domain == "queries": pass',
        'def f():\n    """Title."""\n    return {"certified_success": 1}',
        "queries_section = 1",
        "import leakgauge.domains.locations",
        'text = f"{n} rounds of one_threshold"',
    ],
)
def test_search_finds_names(code):
    assert names_in(code)


def test_search_ignores_docstrings():
    assert not names_in('def f():\n    """Such as `locations`."""\n    return np.repeat("<strong>", 2)')


@pytest.mark.parametrize("path", REPORT, ids=relative)
def test_report_takes_domain_texts_from_declarations(path):
    assert further_names().isdisjoint(text_constants(path))
    assert (unmistakable(further_names()) | set(catalog.domain_names())).isdisjoint(words(path))


def test_search_covers_names_and_files():
    assert {"locations", "likelihood", "loss_threshold", "certified_success", "units"} <= central_names()
    assert {"informed", "noisy", "obtained"} <= further_names()
    assert {"page.py", "page.js", "page.html.jinja", "exposure.py"} <= {path.name for path in REPORT}
    assert {"main.py", "run.py", "api.py", "verdict.py", "plan.py"} <= {path.name for path in FRAMEWORK}


@cache
def layers() -> list[str]:
    """The layers of the import contract, the lowest first; those side by side are one line."""
    contract = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["tool"][
        "importlinter"
    ]
    return contract["contracts"][0]["layers"][::-1]


def height(module: str) -> int:
    """The place of a module's layer, counted from below."""
    part = module.split(".")[1]
    return next(i for i, layer in enumerate(layers()) if part in layer.split(" | "))


def named_upwards(module: str, code: str) -> list[str]:
    """The modules of higher layers that a module names in its strings; docstrings may speak of any layer."""
    found = []
    for text in texts(code):
        if match := re.match(r"leakgauge\.([a-z_]+)", text):
            name = match[0]
            if any(match[1] in layer.split(" | ") for layer in layers()) and height(name) > height(module):
                found.append(text)
    return found


def test_no_layer_reaches_a_higher_one_by_name():
    """What ``import_module("leakgauge.…")`` loads is not seen by import contracts."""
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        if len(parts) > 2 or parts[1] not in ("__init__", "__main__", "version"):
            assert named_upwards(".".join(parts), path.read_text(encoding="utf-8")) == [], path


def test_search_finds_imports_by_name():
    code = 'load = import_module("leakgauge.report.result_views")'
    assert named_upwards("leakgauge.verdict", code) == ["leakgauge.report.result_views"]
    assert named_upwards("leakgauge.cli.report", code) == []
    assert named_upwards("leakgauge.verdict", '"""leakgauge.report shows it."""') == []


@cache
def direct_imports() -> dict[str, set[str]]:
    """What each module imports. Imports inside functions count; those for type checkers do not."""
    graph = grimp.build_graph("leakgauge", exclude_type_checking_imports=True)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_module_imports_itself_through_others():
    TopologicalSorter(direct_imports()).prepare()  # raises CycleError with the modules of a cycle


def test_no_chain_of_imports_is_long():
    """Who follows imports down from any module reads at most 18 files one after the other."""
    chains: dict[str, list[str]] = {}
    for module in TopologicalSorter(direct_imports()).static_order():
        below = (chains[imported] for imported in direct_imports()[module])
        chains[module] = [module, *max(below, key=len, default=[])]
    longest = max(chains.values(), key=len)
    assert len(longest) <= LONGEST_CHAIN, longest
