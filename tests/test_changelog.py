"""The table of renamed imports in CHANGELOG.md leads from names that are gone to names that exist."""

import re

import pytest

from documented_names import ROOT, resolves

ROWS = re.findall(r"^\| `([\w.]+)` \| `([\w.]+)` \|$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("before", "now"), ROWS)
def test_renamed_import_exists_under_new_name_only(before, now):
    assert resolves(now)
    assert not resolves(before)


def test_table_is_read():
    assert ("core.settings.read", "support.table_reader.read_dataclass") in ROWS
    assert len(ROWS) > 50
