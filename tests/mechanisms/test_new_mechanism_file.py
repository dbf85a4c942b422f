"""A mechanism that exists in this test only: one file, usable in every domain that takes additive noise."""

import math
import sys
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

import leakgauge
from leakgauge import catalog, mechanisms
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_noise, adds_real_noise
from leakgauge.plan import Audit, Contender, MetricsTable, Plan, Stop
from leakgauge.theory import tradeoff

SECH = '''
"""Hyperbolic secant noise on a vector of values."""

from dataclasses import dataclass

import numpy as np

from leakgauge.mechanisms._additive import PureNoise


@dataclass(frozen=True, kw_only=True)
class Mechanism(PureNoise):
    """Add noise with density 1 / (pi scale cosh(x / scale)) to every value."""

    def draw(self, shape, rng):
        return self.noise_scale * np.arcsinh(np.tan(np.pi * (rng.random(shape) - 0.5)))

    def log_density(self, distances):
        z = np.abs(distances) / self.noise_scale
        return np.log(2 / np.pi / self.noise_scale) - z - np.log1p(np.exp(-2 * z))

    def log_cdf(self, distances):
        z = distances / self.noise_scale
        near = np.log(np.arctan(np.exp(np.clip(z, -30, 0))))
        below = np.log(2 / np.pi) + np.where(z < -30, z, near)
        return np.where(z <= 0, below, np.log1p(-2 / np.pi * np.arctan(np.exp(-np.maximum(z, 0)))))
'''
BLIND_TO_CURVES = '''
"""The same noise, of which no trade-off is known."""

from dataclasses import dataclass

from leakgauge.mechanisms import sech


@dataclass(frozen=True, kw_only=True)
class Mechanism(sech.Mechanism):
    """Add the same noise, and know nothing of its curve."""

    def best_attack(self, shifts):
        return None
'''
WITHOUT_BOUND = '''
"""The same noise, of which neither a trade-off nor a bound on the privacy loss is known."""

from dataclasses import dataclass

from leakgauge.mechanisms import sech


@dataclass(frozen=True, kw_only=True)
class Mechanism(sech.Mechanism):
    """Add the same noise, and know nothing of it."""

    def largest_loss(self, shift):
        return float("inf")

    def best_attack(self, shifts):
        return None
'''
TABLES = {
    "blackbox": ({}, {"pair": [[0, 0], [1, 1]]}, "likelihood"),
    "locations": (
        {"source": "synthetic", "users": 300, "sites": 6, "epochs": 24},
        {"group_size": 100, "targets": 3, "splits": 1},
        "likelihood",
    ),
    "queries": ({"records": 100}, {"budget": 4.0}, "split_likelihood"),
    "federated": (
        {"rows": 400, "features": 8, "classes": 2},
        {"targets": 2, "batch": 5, "neurons": 4},
        "likelihood_neuron",
    ),
    "models": (
        {"source": "constants"},
        {"members": 5, "game": "mixture", "dependence": {"name": "source", "group": "component"}},
        "likelihood",
    ),
}


@pytest.fixture
def new_files(tmp_path, monkeypatch):
    """A folder beside that of the mechanisms, with three files in it."""
    names = {"sech": SECH, "sech_without_curve": BLIND_TO_CURVES, "sech_without_bound": WITHOUT_BOUND}
    for name, text in names.items():
        (tmp_path / f"{name}.py").write_text(dedent(text).lstrip())
    monkeypatch.setattr(mechanisms, "__path__", [*mechanisms.__path__, str(tmp_path)])
    yield tuple(names)
    mechanism_class.cache_clear()
    for name in names:
        sys.modules.pop(f"leakgauge.mechanisms.{name}", None)
        vars(mechanisms).pop(name, None)


def prepare(domain, name, tmp_path, **parameters):
    data, challenger, attack = TABLES[domain]
    who = Contender(attack=attack, knowledge=catalog.accepted_knowledge(domain, attack)[0], label="it")
    audit = Audit(
        name="a",
        domain=domain,
        rounds=40,
        block=40,
        stop=Stop.ROUNDS,
        data=data,
        challenger=challenger,
        mechanism={"name": name, **parameters},
        metrics=MetricsTable(),
        contenders=(who,),
    )
    return catalog.prepare_audit(audit, Plan(seed=1, audits=(audit,), folder=tmp_path))


def trials(prepared, rounds=40):
    knowledge, attack = prepared.knowledges["it"], prepared.attacks["it"]
    adversary = Adversary(knowledge, attack.study(knowledge, stream(1, Role.STUDY)))
    return play(prepared.challenger, {"it": adversary}, 1, range(rounds), 0)["it"]


def test_file_is_found_without_registration(new_files):
    assert set(new_files) <= set(mechanism_names(adds_real_noise))
    assert set(mechanism_names(adds_noise)) - set(mechanism_names(adds_real_noise)) == {
        "geometric",
        "discrete_gaussian",
    }


@pytest.mark.parametrize("domain", TABLES)
@pytest.mark.parametrize("which", [0, 1])
def test_new_file_is_auditable_in_every_fitting_domain(new_files, domain, which, tmp_path):
    name = new_files[which]
    assert name in catalog.describe("mechanisms", domain)
    prepared = prepare(domain, name, tmp_path, epsilon=1.0)
    guarantee = prepared.challenger.guarantee
    assert guarantee.epsilon > 0
    assert (guarantee.curve is None) == (which == 1)
    assert (
        0.5 < tradeoff.max_accuracy(guarantee) <= tradeoff.max_accuracy(replace(guarantee, curve=None)) + 1e-9
    )
    assert np.isfinite(trials(prepared).scores).all()


@pytest.mark.parametrize("rounded", [False, True])
def test_new_file_passes_the_release_chain(new_files, rounded, tmp_path):
    prepared = prepare(
        "locations", new_files[0], tmp_path, scale=0.5, round=rounded, clamp=True, suppress=1, unit="event"
    )
    assert np.isfinite(trials(prepared).scores).all()
    assert prepared.challenger.guarantee.nominal_epsilon is None


def expose_log(tmp_path, rows):
    (tmp_path / "log.csv").write_text("query,records,mechanism,epsilon\n" + rows)
    found = leakgauge.expose_log(tmp_path / "log.csv").exposure
    return found, found.against[0].accuracy


def test_new_file_may_be_stated_in_a_query_log(new_files, tmp_path):
    """One answer: the best threshold is the midpoint, P(noise < shift / 2); two: summed over a grid."""
    found, accuracy = expose_log(tmp_path, "1,a;b,sech,1.5\n2,b,sech,0.8\n")
    places = np.linspace(-40, 40, 1601)
    worlds = [
        np.multiply.outer(*(1 / np.cosh(places - shift) for shift in (moved * 1.5, moved * 0.8)))
        for moved in (1, 0)
    ]
    distance = np.abs(worlds[0] / worlds[0].sum() - worlds[1] / worlds[1].sum()).sum() / 2
    expected = [2 / np.pi * np.arctan(np.exp(0.75)), (1 + distance) / 2]
    np.testing.assert_allclose(accuracy, expected, atol=1e-4)
    np.testing.assert_allclose(found.spent.epsilon, [1.5, 2.3])


def test_log_of_noise_without_curve_states_upper_bound(new_files, tmp_path):
    found, accuracy = expose_log(tmp_path, "1,a,sech_without_curve,1.5\n2,b,sech,1.5\n")
    np.testing.assert_allclose(accuracy[0], 1 / (1 + np.exp(-1.5)), atol=1e-5)
    assert accuracy[0] > accuracy[1]
    assert any("sech_without_curve noise is not known" in note for note in found.notes)


def test_log_of_noise_without_any_bound_is_refused_with_row(new_files, tmp_path):
    with pytest.raises(BadInput, match=r"log.csv, row 2: mechanism = sech_without_bound: neither its best"):
        expose_log(tmp_path, "1,a,sech,1.5\n2,b,sech_without_bound,1.5\n")


@pytest.mark.parametrize("name", mechanism_names(adds_noise))
@pytest.mark.parametrize("domain", TABLES)
def test_every_additive_mechanism_is_accepted_where_it_fits(domain, name, tmp_path):
    """Small noise in every domain, and a score that then tells members and others apart."""
    fields = mechanism_class(name).__dataclass_fields__
    noise = {"sigma": 0.1, "delta": 1e-5} if "sigma" in fields else {"scale": 0.05}
    if domain == "federated" and mechanism_class(name).lattice:
        with pytest.raises(BadInput, match="adds whole numbers, and features are real numbers"):
            prepare(domain, name, tmp_path, **noise)
        return
    if domain == "queries":
        noise = {"epsilon": 1.0, **({"delta": 1e-5} if "delta" in fields else {})}
    found = trials(prepare(domain, name, tmp_path, **noise), rounds=30 if domain == "federated" else 100)
    told = np.mean(found.scores[found.members]) - np.mean(found.scores[~found.members])
    assert told > 0
    assert math.isfinite(told)
