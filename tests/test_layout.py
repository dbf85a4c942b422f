"""Rules about the source tree that import contracts cannot express."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from leakgauge import catalog

SOURCE = Path(str(files("leakgauge")))
REPORT_FILES = sorted(
    path for path in (SOURCE / "report").rglob("*") if path.suffix in (".py", ".jinja", ".js")
)


def declared_names() -> set[str]:
    """Names of domains and attacks, and of the knowledge and the numbers that domains declare."""
    found = set()
    for domain in catalog.all_domains():
        attacks = catalog.module_names(domain.attacks_package)
        terms = (domain.knowledge_terms, domain.studied, domain.utility, domain.spending)
        found |= {domain.name, *attacks, *(name for declared in terms for name in declared)}
    return found


def text_constants(path: Path) -> Iterator[str]:
    """Every string in a Python file; a file of another kind is one string."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("path", REPORT_FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_report_names_no_domain_attack_or_declared_number(path):
    """Words such as "others" or "units" may be variables or prose, but no key that the report looks up."""
    names = declared_names()
    assert names.isdisjoint(text_constants(path))
    unmistakable = {name for name in names if "_" in name} | set(catalog.domain_names())
    words = set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    assert unmistakable.isdisjoint(words)


def test_the_search_knows_what_to_look_for_and_where():
    expected = {"locations", "likelihood", "loss_threshold", "certified_success", "noisy", "obtained"}
    assert expected <= declared_names()
    assert {"page.py", "page.js", "page.html.jinja", "exposure.py"} <= {path.name for path in REPORT_FILES}
