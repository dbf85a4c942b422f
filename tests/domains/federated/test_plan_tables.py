"""What a plan may not say about the game."""

import sys
from pathlib import Path

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.federated.challenger import build
from leakgauge.domains.federated.plan_tables import read_challenger_table, read_mechanism_table


@pytest.mark.parametrize(
    ("key", "value"), [("features", 3), ("relation", "add_remove"), ("unit", "client"), ("unit", "record")]
)
def test_derived_settings_cannot_be_set(key, value):
    with pytest.raises(BadInput, match=f"mechanism 'bitrand': {key} cannot be set"):
        read_mechanism_table({"name": "bitrand", "epsilon": 1.0, key: value}, 16)


def test_mechanism_none_has_no_parameters():
    assert read_mechanism_table({"name": "none"}, 16) is None
    with pytest.raises(BadInput, match="epsilon has no effect"):
        read_mechanism_table({"name": "none", "epsilon": 1.0}, 16)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"batch": 1}, "batch must be >= 2, got 1"),
        ({"clients": 0}, "clients must be >= 1, got 0"),
        ({"chosen": 65}, "chosen = 65 exceeds neurons = 64"),
        ({"present": 0.0}, r"present must be in \(0, 1\]"),
        ({"present": float("nan")}, r"present must be in \(0, 1\]"),
        ({"iterations": 2}, "add gradient_noise"),
    ],
)
def test_rejects_invalid_games(table, message):
    with pytest.raises(BadInput, match=message):
        read_challenger_table(table)


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError(name)


@pytest.mark.parametrize("how", ["hidden", "blocked"])
def test_missing_torch_is_reported(monkeypatch, how):
    if how == "hidden":
        monkeypatch.setitem(sys.modules, "torch", None)
    else:
        monkeypatch.delitem(sys.modules, "torch", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    with pytest.raises(BadInput, match=r"torch, which is not installed; run: pip install 'leakgauge\[ml\]'"):
        build(data={}, challenger={}, mechanism={"name": "none"}, folder=Path(), seed=1)
