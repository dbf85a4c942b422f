from dataclasses import fields

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.domains.blackbox.knowledge import LawKnowledge, SimulatorKnowledge, build
from leakgauge.domains.blackbox.release import MechanismRelease
from leakgauge.mechanisms import laplace

OWN = Challenger(lambda dataset, rng: dataset, (0, 1), Guarantee(epsilon=1.0, delta=1e-6))
NAMED = Challenger(MechanismRelease(laplace.Mechanism(epsilon=1.0)), (np.zeros(2), np.ones(2)), None)


def test_simulator_knowledge_runs_both_worlds():
    knowledge = build("simulator", {}, OWN, 1)
    assert isinstance(knowledge, SimulatorKnowledge)
    assert knowledge.simulate(np.array([True, False]), np.random.default_rng(1)) == [1, 0]
    assert knowledge.view([7, 8]) == [7, 8]
    assert knowledge.delta == 1e-6


def test_mechanism_knowledge_has_values_and_simulates():
    knowledge = build("law", {}, NAMED, 1)
    assert isinstance(knowledge, LawKnowledge)
    assert (knowledge.low.tolist(), knowledge.high.tolist()) == ([0, 0], [1, 1])
    assert np.shape(knowledge.simulate(np.array([True, False]), np.random.default_rng(1))) == (2, 2)


def test_knowledge_has_no_other_fields():
    assert [field.name for field in fields(SimulatorKnowledge)] == ["function", "pair", "delta"]
    assert [field.name for field in fields(LawKnowledge)] == ["mechanism", "low", "high", "delta"]


@pytest.mark.parametrize(
    ("name", "parameters", "challenger", "problem"),
    [
        ("law", {}, OWN, "the noise distribution of your own release is not known"),
        ("simulater", {}, OWN, "did you mean 'simulator'"),
        ("simulator", {"trace": 1}, OWN, "no parameters"),
    ],
)
def test_rejects_unknown_knowledge(name, parameters, challenger, problem):
    with pytest.raises(BadInput, match=problem):
        build(name, parameters, challenger, 1)
