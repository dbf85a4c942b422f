"""Mistakes in a plan about models are refused with the name of the key, before anything is trained."""

from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.models import knowledge
from leakgauge.domains.models.challenger import build

NONE = {"name": "none"}
SMALL = {"epochs": 2, "batch": 4, "hidden": [4]}
HOSPITAL = {"name": "source", "group": "hospital", "members": "Ulm"}
ROWS = 40


@pytest.fixture
def made(tmp_path):
    def make(mechanism=NONE, n=ROWS, **challenger):
        rng = np.random.default_rng(5)
        rows = [f"{rng.normal():.4f},{'Ulm' if i % 2 else 'Bonn'},{i % 3 % 2}" for i in range(n)]
        (tmp_path / "a.csv").write_text("\n".join(["x,hospital,outcome", *rows]))
        data = {"source": "a.csv", "label": "outcome", "group": "hospital"}
        return build(
            data=data, challenger=SMALL | challenger, mechanism=mechanism, folder=Path(tmp_path), seed=3
        )

    return make


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "challenger: epochs must be >= 1, got 0"),
        ({"batch": 0}, "challenger: batch must be >= 1, got 0"),
        ({"hidden": [4, 0]}, r"challenger: hidden: a layer needs one unit or more, got \[4, 0\]"),
        ({"rate": float("nan")}, "challenger: rate must be > 0 and finite, got nan"),
        ({"batch": 90}, "batch: 90 rows exceed the 10 of a training; lower batch"),
        ({"game": "mixture"}, r'\(or "source"\)$'),
        ({"game": "group"}, r'\(or "source", "bias"\)$'),
        (
            {"game": "mixture", "dependence": HOSPITAL | {"members": "Paris"}},
            "'Paris': no row has that value",
        ),
        (
            {"game": "group", "members": 5, "targets": 1, "dependence": HOSPITAL},
            "challenger.targets must be in 2..10 .* got 1",
        ),
        ({"game": "group", "members": 5, "targets": 11, "dependence": HOSPITAL}, "in 2..10 .* got 11"),
        (
            {"game": "group", "members": 5, "dependence": {"name": "clusters", "seed": -1}},
            "challenger.dependence: seed must be in 0..4294967295, got -1",
        ),
    ],
)
def test_errors_name_the_plan_table(made, changes, message):
    with pytest.raises(BadInput, match=message):
        made(**changes)


@pytest.mark.parametrize("game", ["exchangeable", "iid", "strong", "mixture"])
def test_rejects_too_few_rows_for_training(made, game):
    dependence = {"dependence": HOSPITAL} if game == "mixture" else {}
    with pytest.raises(BadInput, match=r"challenger.members: half of the \d rows .* add rows"):
        made(n=6, game=game, **dependence)


@pytest.mark.parametrize("key", ["epochs", "batch", "hidden"])
def test_noisy_mean_rejects_network_settings(made, key):
    table = {other: None for other in SMALL if other != key}
    changes = {name: value for name, value in (SMALL | table).items() if value is not None}
    with pytest.raises(BadInput, match=f"challenger.{key}: a noisy mean trains no network"):
        build(
            data={"source": "constants"},
            challenger=changes | {"game": "strong"},
            mechanism={"name": "laplace", "epsilon": 1.0},
            folder=Path(),
            seed=1,
        )


def test_blind_knowledge_needs_named_components(made):
    plain = made(game="group", members=5, dependence={"name": "none"})
    with pytest.raises(BadInput, match="a dependence that names them"):
        knowledge.build("blind", {}, plain, 1)


def test_every_block_has_utility(made):
    challenger = made(members=8, targets=2)
    all_in, none_in = np.ones((2, 2), dtype=bool), np.zeros((2, 2), dtype=bool)
    empty, full = (
        challenger.utility_of(challenger.release(bits, np.random.default_rng(1)))
        for bits in (all_in, none_in)
    )
    assert empty.keys() == full.keys() == {"members", "others"}
    assert np.isnan(empty["others"]).all()
    assert np.isfinite(full["others"]).all()
