"""Rules about the source tree that import contracts cannot express."""

import ast
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from leakgauge import catalog

SOURCE = Path(str(files("leakgauge")))
SUFFIXES = (".py", ".jinja", ".js")


def files_of(*places: str) -> list[Path]:
    """All source files of some packages and modules."""
    paths = (path for place in places for path in ((SOURCE / place).rglob("*"), [SOURCE / f"{place}.py"]))
    return sorted(path for found in paths for path in found if path.suffix in SUFFIXES and path.is_file())


REPORT = files_of("report")
FRAMEWORK = files_of("report", "cli", "runner", "api", "verdict", "exposure", "plan")


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


def words(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text(encoding="utf-8")))


def unmistakable(names: Iterable[str]) -> set[str]:
    """Names that are no English words: whoever writes them means them."""
    return {name for name in names if "_" in name}


def relative(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", FRAMEWORK, ids=relative)
def test_no_domain_attack_or_studied_number_is_named_outside_the_domains(path):
    """Words such as "shadow" or "units" may be variables or prose, but no text that is looked up."""
    assert central_names().isdisjoint(text_constants(path))
    assert unmistakable(central_names()).isdisjoint(words(path))


@pytest.mark.parametrize("path", REPORT, ids=relative)
def test_the_report_takes_all_words_of_a_domain_from_its_declaration(path):
    assert further_names().isdisjoint(text_constants(path))
    assert (unmistakable(further_names()) | set(catalog.domain_names())).isdisjoint(words(path))


def test_the_search_knows_what_to_look_for_and_where():
    assert {"locations", "likelihood", "loss_threshold", "certified_success", "units"} <= central_names()
    assert {"informed", "noisy", "obtained"} <= further_names()
    assert {"page.py", "page.js", "page.html.jinja", "exposure.py"} <= {path.name for path in REPORT}
    assert {"main.py", "run.py", "api.py", "verdict.py", "plan.py"} <= {path.name for path in FRAMEWORK}
