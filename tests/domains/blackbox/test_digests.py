import subprocess
import sys

import numpy as np
import pytest

from leakgauge.domains.blackbox.box import Noise
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.mechanisms import laplace


def one(dataset, rng):
    return dataset


def other(dataset, rng):
    return dataset + 0


def digest(function=one, pair=(0, 1), sources=()):
    return Challenger(function, pair, None, sources).digest


@pytest.mark.parametrize(
    "change",
    [
        {"function": other},
        {"pair": (0, 2)},
        {"pair": (0, 1.0)},
        {"pair": (np.zeros(2), np.ones(2))},
        {"pair": ([0], [1])},
        {"pair": ({"a": 1}, {"a": 2})},
        {"sources": ("text",)},
    ],
)
def test_what_is_played_differently_has_another_name(change):
    assert digest(**change) != digest()
    assert digest(**change) == digest(**change)


def test_a_mechanism_is_named_by_its_parameters():
    names = {digest(Noise(laplace.Mechanism(epsilon=epsilon))) for epsilon in (1.0, 1.0, 2.0)}
    assert len(names) == 2


def test_functions_without_a_text_have_a_name_too():
    assert digest(np.add) != digest(np.multiply)


def test_the_name_is_the_same_in_every_process():
    code = (
        "import numpy as np\n"
        "from leakgauge.domains.blackbox.challenger import Challenger\n"
        "pair = ({'b', 'a', 'c'}, {'x': np.arange(3), 'y': ['a', None, 1.5]})\n"
        "print(Challenger(np.add, pair, None, ('source',)).digest)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        )
        for seed in (1, 2)
    ]
    assert len({run.stdout for run in runs}) == 1
    assert len(runs[0].stdout.strip()) == 64


class Ward:
    def __init__(self, patients):
        self.patients = patients


def test_inputs_of_an_unknown_type_are_told_apart_by_what_is_in_them():
    digests = {digest(pair=(Ward([1, 2]), Ward(more))) for more in ([3], [4])}
    assert len(digests) == 2
