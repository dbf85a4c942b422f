"""The page on federated clients: its plan works, it names what a plan may say, its numbers are right."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from leakgauge import catalog
from leakgauge.domains.federated import DOMAIN
from leakgauge.domains.federated.clients.gradients import GradientNoise
from leakgauge.domains.federated.plan_tables import FederatedChallengerTable
from leakgauge.mechanisms import bitrand, mechanism_names, ome
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.plan import read_plan

PAGE = (Path(__file__).parent.parent / "docs" / "federated.md").read_text()
ATTACKS = catalog.module_names("leakgauge.domains.federated.attacks")
OF_APPS = {"planted_layers"}  # described on the page of Flower apps


def test_plan_on_page_builds_a_game(tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(600, 512)).astype(np.float32)
    np.savez(tmp_path / "embeddings.npz", embedding=rows, label=rng.integers(0, 3, 600))
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (plan,) = (block for block in blocks if block.startswith("seed"))
    (tmp_path / "plan.toml").write_text(plan)
    read = read_plan(tmp_path / "plan.toml")
    game = catalog.prepare_audit(read.audits[0], read)
    assert game.challenger.n_targets == 20
    assert game.challenger.guarantee.epsilon == 5.0
    assert game.challenger.guarantee.exact_epsilon == pytest.approx(9239, abs=1)
    assert set(game.attacks) == {f"{name}-server" for name in set(ATTACKS) - OF_APPS}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attack_options_are_documented(attack):
    assert f"| `{attack}` |" in PAGE
    for option in fields(import_module(f"leakgauge.domains.federated.attacks.{attack}").Attack):
        assert re.search(rf"^\| `{option.name}` \| (all|.*`{attack}`)", PAGE, re.MULTILINE), option.name


def test_challenger_keys_and_mechanisms_are_documented():
    for key in fields(FederatedChallengerTable):
        assert re.search(rf"^\| `{key.name}` \|", PAGE, re.MULTILINE), key.name
    assert "[additive noise](mechanisms.md)" in PAGE
    for name in set(DOMAIN.mechanism_lines()) - set(mechanism_names(adds_noise)):
        assert f'| `"{name}"` |' in PAGE, name
    for key in fields(GradientNoise):
        assert key.name in PAGE


def test_exact_epsilons_on_page_are_right():
    labels = (1.0, 3.0, 5.0, 10.0)
    exact = [f"{bitrand.Mechanism(epsilon=label).guarantee.exact_epsilon:,.0f}" for label in labels]
    assert f"| BitRand, exact | {' | '.join(exact)} |" in PAGE
    others = [f"{ome.Mechanism(epsilon=label).guarantee.exact_epsilon:,.0f}" for label in labels]
    assert f"| OME (alpha 100), exact | {' | '.join(others)} |" in PAGE
    for label in (1.0, 3.0):
        few = bitrand.Mechanism(epsilon=label, features=64).guarantee.exact_epsilon
        assert f"| {label:g} | {few:.0f} |" in PAGE
