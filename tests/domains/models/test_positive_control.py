"""The positive control of models: a small training that learns its rows by heart, and noisy means."""

import pytest

from leakgauge.core.game import NoControl
from leakgauge.domains.models.challenger import build
from leakgauge.domains.models.control import MOST_UNITS
from positive_control_play import played

TABLE = {"rows": 400, "features": 4}
MIXED = {"game": "mixture", "dependence": {"name": "source", "group": "component"}}
FIXED = {"game": "group", "dependence": {"name": "source", "group": "component", "members": "0"}}


def built(folder, mechanism, challenger, data=TABLE):
    return build(data=data, challenger=challenger, mechanism=mechanism, folder=folder, seed=1)


def trained(folder, relation="replace_one", **challenger):
    noisy = {"name": "dp_sgd", "sigma": 50.0, "relation": relation}
    return built(folder, noisy, {"members": 50, "epochs": 2, "rate": 5.0, **challenger})


@pytest.mark.parametrize(
    ("relation", "challenger"),
    [
        pytest.param("replace_one", {"game": "exchangeable"}, marks=pytest.mark.nightly),
        ("add_remove", {"game": "exchangeable", "hidden": []}),
        pytest.param("replace_one", {"game": "iid"}, marks=pytest.mark.nightly),
        ("replace_one", MIXED),
        pytest.param("replace_one", {**FIXED, "others": 50}, marks=pytest.mark.nightly),
    ],
)
def test_members_are_recognised_by_their_loss(relation, challenger, tmp_path):
    control = trained(tmp_path, relation, **challenger).control()
    assert control.trainer.recipe.noise is None
    assert max(control.trainer.recipe.hidden, default=0) <= MOST_UNITS
    assert played("models", control, "loss_threshold")["status"] == "passed"


def test_forest_is_trained_as_it_is(tmp_path):
    forest = {"members": 50, "trainer": {"name": "random_forest", "trees": 20}}
    control = built(tmp_path, {"name": "none"}, forest).control()
    assert played("models", control, "loss_threshold")["status"] == "passed"


@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_strong_attacker_recognises_the_target(relation, tmp_path):
    control = trained(tmp_path, relation, game="strong").control()
    assert played("models", control, "strong", form="retrained", models=8)["status"] == "passed"


@pytest.mark.parametrize(
    ("challenger", "knowledge"),
    [
        ({"game": "strong", "members": 20}, "strong"),
        ({"game": "exchangeable", "members": 50, "targets": 20}, "black_box"),
        ({"game": "iid", "members": 50, "targets": 20}, "black_box"),
        ({**MIXED, "members": 50, "targets": 3}, "components"),
    ],
)
@pytest.mark.parametrize("relation", ["replace_one", "add_remove"])
def test_noisy_mean_shows_the_target(challenger, knowledge, relation, tmp_path):
    noise = {"name": "laplace", "epsilon": 0.01, "relation": relation}
    control = built(tmp_path, noise, challenger).control()
    assert played("models", control, "likelihood", knowledge)["status"] == "passed"


def test_sweep_over_the_noise_has_one_control(tmp_path):
    noises = [{"name": "dp_sgd", "sigma": sigma, "relation": "replace_one"} for sigma in (1.0, 2.0)]
    one, other = (built(tmp_path, noise, {"members": 50}) for noise in noises)
    assert one.control().digest == other.control().digest
    assert one.digest != other.digest


def test_finished_model_has_no_control(tmp_path):
    (tmp_path / "losses.csv").write_text("loss,member\n" + "0.1,1\n0.9,0\n" * 20)
    none = built(tmp_path, {}, {"game": "given"}, data={"source": "losses.csv", "loss": "loss"}).control()
    assert isinstance(none, NoControl)
    assert none.needed
