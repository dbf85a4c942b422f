"""Everything that docs/architecture.md names exists, and its map shows the layers that are enforced."""

import re
import sys
from importlib import import_module

import pytest

from documented_names import ROOT, SOURCE, exists, resolves

PAGE = ROOT / "docs" / "architecture.md"
PICTURES = ROOT / "docs" / "pictures"
RUN_FILES = {
    "plan.toml",
    "manifest.json",
    "verdicts.json",
    "report.html",
    "reproduction.html",
    "reproduction.json",
}
NOT_NAMES = {
    "lint-imports",
    "quick",
    "full",
    "epsilon",
    "view",
    "import leakgauge",
    "DOMAIN",
    "build",
    "data",
    "challenger",
    "mechanism",
    "blackbox",
}  # nothing of the source tree
DOMAIN_TABLE = re.compile(r"^\| file or folder \|.*?\n\n", re.MULTILINE | re.DOTALL)


def quoted():
    """What the page writes as code, except commands, calls, plan keys and the table of a domain's files."""
    found = re.findall(r"`([^`\n]+)`", re.sub(DOMAIN_TABLE, "", PAGE.read_text()))
    plain = [
        text
        for text in dict.fromkeys(found)
        if not text.startswith(
            ("leakgauge ", "leakgauge.run(", "leakgauge.reproduce(", "leakgauge.audit_", "make ", "--")
        )
        and " = " not in text
    ]
    return [text for text in plain if text not in NOT_NAMES | RUN_FILES]


def is_path(text):
    return "/" in text or text.endswith((".py", ".toml"))


@pytest.mark.parametrize("text", quoted())
def test_names_on_the_page_exist(text):
    if is_path(text):
        assert exists(text), f"docs/architecture.md names {text}, which does not exist"
    else:
        assert resolves(text), f"docs/architecture.md names {text}, which is not defined"


def test_name_check_finds_wrong_names():
    assert len(quoted()) > 60
    assert exists("core/game.py")
    assert exists("domains/<domain>/attacks/")
    assert not exists("core/games.py")
    assert resolves("core.game.play")
    assert resolves("verdict.Verdict.finding")
    assert not resolves("core.game.replay")
    assert not resolves("runner.run.prepare_audit")  # imported there, defined elsewhere
    assert not resolves("core.games.play")
    assert not resolves("verdict.Verdict.found")


def test_domain_table_lists_existing_files():
    (table,) = re.findall(DOMAIN_TABLE, PAGE.read_text())
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert len(rows) == 11
    for row in rows:
        names = [name.rstrip("/") for name in re.findall(r"`([^`]+)`", row)]
        assert any(list(SOURCE.glob(f"domains/*/{name}")) for name in names), row


@pytest.fixture
def source_tree(monkeypatch):
    monkeypatch.syspath_prepend(PICTURES)
    yield import_module("source_tree")
    sys.modules.pop("source_tree")


def test_map_is_up_to_date(source_tree):
    assert source_tree.PICTURE.read_text() == source_tree.draw(), "run: python docs/pictures/source_tree.py"


def test_map_shows_every_package_and_domain(source_tree):
    tops = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    layers = {name for layer in source_tree.layers() for name in layer}
    assert layers == tops - {"__init__", "__main__", "version"}
    assert layers == source_tree.PURPOSE.keys()
    assert set(source_tree.DOMAINS) == {path.parent.name for path in SOURCE.glob("domains/*/__init__.py")}


def test_files_on_map_exist(source_tree):
    for layer, (_, files) in source_tree.PURPOSE.items():
        for name in re.findall(r"\w+/?", files) if " = " not in files else ():
            assert exists(f"{layer}/{name}" if name.endswith("/") else f"{layer}/{name}.py"), (layer, name)
    for name in source_tree.DOMAIN_FILES:
        having = [
            domain
            for domain in source_tree.DOMAINS
            if any((SOURCE / "domains" / domain).glob(f"{name.rstrip('/')}*"))
        ]
        assert len(having) >= 4, name


def test_map_alternative_text_is_complete(source_tree):
    (text,) = re.findall(r"!\[([^\]]*)\]\(pictures/source-tree\.svg\)", PAGE.read_text())
    for name in (*source_tree.PURPOSE, *source_tree.DOMAINS):
        assert name in text
