import pytest

from leakgauge.papers.nguyen23 import PAPER
from leakgauge.papers.paper import Scale

GAMES = ("figure_5", "figure_7", "figure_9", "table_1", "figure_11", "figure_12", "figure_13", "exact")


def test_every_figure_and_table_has_an_item():
    figures = {f"figure_{number}" for number in range(5, 15)}
    assert set(PAPER.items) == figures | {"table_1", "exact", "hinges"}


@pytest.mark.parametrize("scale", list(Scale))
@pytest.mark.parametrize("name", GAMES)
def test_plans_are_valid_at_both_scales(audits, name, scale):
    found = audits(name, scale)
    assert found
    for audit in found:
        games = audit.rounds * audit.challenger["targets"]
        assert audit.domain == "federated"
        if scale is Scale.FULL:
            assert games == 10_000
        else:
            assert 120 <= games <= 400


@pytest.mark.parametrize("name", ["figure_5", "figure_11"])
def test_columns_have_published_batches_and_both_forms(audits, files, name):
    found = audits(name, data=files)
    batches = {audit.name.split("-")[1]: audit.challenger["batch"] for audit in found}
    assert batches == {"faces": 20, "imagenette": 64, "cifar10": 100}
    forms = {(audit.name.split("-")[1], audit.name.split("-")[2]) for audit in found}
    assert len(forms) == 6
    for audit in found:
        _, _, form, epsilon = audit.name.split("-")
        assert audit.mechanism == {
            "name": "bitrand" if name == "figure_5" else "ome",
            "epsilon": float(epsilon),
        }
        assert audit.data["source"].startswith(str(files))
        never = audit.data.get("non_negative", False) or audit.data.get("features") == "random_relu"
        assert never is (form == "non_negative")


def test_non_negative_features_get_more_hinges(audits):
    for audit in audits("figure_5"):
        by_label = {who.label: who.attack_parameters for who in audit.contenders}
        if "non_negative" in audit.name:
            assert by_label["likelihood"]["form"] == "ratio"
            assert by_label["likelihood"]["hinges"] >= 16
            assert by_label["clipped"] == {}
        else:
            assert by_label["likelihood"] == {}
            assert "clipped" not in by_label


@pytest.mark.parametrize("name", ["figure_5", "figure_11"])
def test_trained_neuron_of_the_paper_runs_at_every_epsilon(audits, name):
    for scale in Scale:
        for audit in audits(name, scale):
            trained = "trained" in {who.label for who in audit.contenders}
            assert trained is (scale is Scale.FULL or "non_negative" in audit.name)


def test_exact_epsilon_is_requested(audits):
    for audit in audits("exact"):
        assert (audit.mechanism.get("calibrate") == "exact") is audit.name.startswith("exact-")


def test_gradient_noise_runs_with_and_without_absences(audits):
    found = {audit.name: audit.challenger for audit in audits("figure_13")}
    played = [c for name, c in found.items() if name.startswith("noisy-")]
    assert {(c["chosen"], c["iterations"], c["present"]) for c in played} == {
        (1, 30, 1.0),
        (8, 8, 1.0),
        (8, 16, 0.5),
    }
    assert all(c["gradient_noise"] == {"epsilon": 10.0, "delta": 0.01} for c in played)
    whole = {(c["gradient_noise"]["epsilon"], c["iterations"], c["batch"]) for c in found.values()} - {
        (10.0, c["iterations"], c["batch"]) for c in played
    }
    assert whole == {(8.0, 1, 100), (8.5, 5, 100)}


def test_generated_rows_are_labelled_as_substitute(show, small_rows):
    _, shown = show("figure_5")
    assert "generated rows for CelebA, ImageNet, CIFAR-10" in shown.notes[0]
