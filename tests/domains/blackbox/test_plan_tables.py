from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.blackbox.challenger import build

MODULE = """
import numpy as np
def release(dataset, rng):
    return float(np.sum(dataset) + rng.laplace())
pair = ([1, 2], [1, 2, 3])
def make_pair():
    return np.zeros(2), np.ones(2)
def fails():
    raise OSError("no such file")
number = 5
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    return tmp_path


def made(folder, challenger, mechanism=None, data=None):
    return build(data=data or {}, challenger=challenger, mechanism=mechanism or {}, folder=folder, seed=1)


OWN = {"release": "mine:release", "pair": "mine:pair"}
NAMED = {"name": "laplace", "epsilon": 0.5}


def test_user_release_takes_pair_from_its_module(folder):
    challenger = made(folder, OWN)
    assert challenger.pair == ([1, 2], [1, 2, 3])
    assert challenger.guarantee is None
    assert challenger.mechanism is None


def test_pair_from_function_or_from_plan(folder):
    np.testing.assert_array_equal(made(folder, {**OWN, "pair": "mine:make_pair"}).pair[1], [1, 1])
    low, high = made(folder, {**OWN, "pair": [[0, 0], [1, 1]]}).pair
    assert isinstance(low, np.ndarray)
    assert high.tolist() == [1, 1]
    assert made(folder, {**OWN, "pair": [0, 1]}).pair == (0, 1)
    assert made(folder, {**OWN, "pair": ["with", "without"]}).pair == ("with", "without")


@pytest.mark.parametrize(
    ("challenger", "mechanism"),
    [
        ({"epsilon": 1, "delta": 1e-5, "relation": "replace_one", "unit": "user"}, {}),
        ({}, {"epsilon": 1.0, "delta": 1e-5, "relation": "replace_one", "unit": "user"}),
        (
            {"epsilon": 1.0, "unit": "user"},
            {"name": "own", "epsilon": 1, "delta": 1e-5, "relation": "replace_one"},
        ),
    ],
)
def test_promise_in_either_table(folder, challenger, mechanism):
    expected = Guarantee(epsilon=1.0, delta=1e-5, relation=Relation.REPLACE_ONE, unit=Unit.USER)
    assert made(folder, {**OWN, **challenger}, mechanism).guarantee == expected


def test_named_mechanism_promises_its_exact_epsilon(folder):
    challenger = made(folder, {"pair": [[0] * 60, [1] * 60], "unit": "user"}, NAMED)
    promised = challenger.guarantee
    assert promised.epsilon == pytest.approx(30.0)  # L1 distance 60 over scale 2
    assert promised.nominal_epsilon == 0.5
    assert promised.unit is Unit.USER
    assert promised.curve is not None


def test_promise_for_pair_is_kept_beside_exact_epsilon(folder):
    challenger = made(folder, {"pair": [0, 1], "epsilon": 1.0}, {"name": "laplace", "scale": 0.5})
    assert challenger.guarantee.epsilon == 1.0
    assert challenger.guarantee.exact_epsilon == pytest.approx(2.0)
    assert challenger.guarantee.curve is None


@pytest.mark.parametrize(
    ("challenger", "mechanism", "problem"),
    [
        ({}, {}, "'pair' is missing"),
        ({"pair": [0, 1]}, {}, "challenger.release is missing"),
        ({"pair": [0, 1], "releese": "mine:release"}, {}, "did you mean 'release'"),
        ({**OWN, "epsilon": 1.0}, {"epsilon": 2.0}, "1.0 in challenger, 2.0 in mechanism"),
        ({**OWN, "epsilon": -1.0}, {}, "epsilon must be >= 0"),
        ({**OWN, "delta": 1e-5}, {}, "needs an epsilon"),
        ({**OWN}, NAMED, "exclude each other"),
        ({**OWN}, {"epsilom": 1.0}, "did you mean 'epsilon'"),
        ({**OWN, "release": "mine:number"}, {}, "is no function, but of type int"),
        ({**OWN, "pair": "mine:number"}, {}, "must hold two inputs"),
        ({**OWN, "pair": [1, 2, 3]}, {}, "must hold two inputs"),
        ({**OWN, "pair": "mine:fails"}, {}, "raised OSError: no such file ("),
        ({**OWN, "pair": "mine:fails"}, {}, "mine.py, line "),
        ({"pair": [0, 1]}, {"name": "laplase", "epsilon": 1.0}, "did you mean 'laplace'"),
        ({"pair": [0, 1]}, {"name": "laplace", "epsilon": -1.0}, "must be > 0"),
        ({"pair": [0, 1], "epsilon": 2.0}, NAMED, "2.0 in challenger, 0.5 in mechanism"),
        ({"pair": [[0, 0], [1]]}, NAMED, "shapes (2,) and (1,)"),
        ({"pair": ["a", "b"]}, NAMED, "two numbers or two lists of numbers"),
        ({"pair": [0.0, float("inf")]}, NAMED, "finite"),
        ({**OWN, "unit": "person"}, {}, "'person'"),
    ],
)
def test_error_message_has_one_line(folder, challenger, mechanism, problem):
    with pytest.raises(BadInput) as caught:
        made(folder, challenger, mechanism)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rejects_data_table(folder):
    with pytest.raises(BadInput, match="data: a black box takes none"):
        made(folder, OWN, data={"source": "people.csv"})


def test_digest_covers_user_source(folder: Path):
    before = made(folder, OWN).digest
    assert made(folder, OWN).digest == before
    (folder / "mine.py").write_text(MODULE.replace("laplace()", "laplace(scale=2)"))
    assert made(folder, OWN).digest != before
    assert made(folder, {**OWN, "pair": [0, 1]}).digest != made(folder, {**OWN, "pair": [0, 2]}).digest
