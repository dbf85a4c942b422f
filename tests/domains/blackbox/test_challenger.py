import subprocess
import sys

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.blackbox.challenger import Challenger, function_source
from leakgauge.domains.blackbox.release import MechanismRelease
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
def test_different_games_have_different_digests(change):
    assert digest(**change) != digest()
    assert digest(**change) == digest(**change)


def test_digest_covers_mechanism_parameters():
    names = {digest(MechanismRelease(laplace.Mechanism(epsilon=epsilon))) for epsilon in (1.0, 1.0, 2.0)}
    assert len(names) == 2


def test_functions_without_source_have_a_digest():
    assert digest(np.add) != digest(np.multiply)


def test_digest_is_stable_across_processes():
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


def test_digest_covers_content_of_unknown_types():
    digests = {digest(pair=(Ward([1, 2]), Ward(more))) for more in ([3], [4])}
    assert len(digests) == 2


def shown(dataset, rng):
    return dataset


PROMISE = Guarantee(epsilon=1.0)


def test_coins_are_fair_and_there_is_one_target():
    challenger = Challenger(shown, ("out", "in"), PROMISE)
    members = challenger.flip(40_000, np.random.default_rng(1))
    assert members.shape == (40_000, 1)
    assert members.mean() == pytest.approx(0.5, abs=0.01)
    assert (challenger.n_targets, challenger.coins, challenger.guarantee) == (1, Coins.FAIR, PROMISE)


def test_members_get_second_input():
    challenger = Challenger(shown, ("out", "in"), None)
    assert challenger.release(np.array([[True], [False]]), np.random.default_rng(1)) == ["in", "out"]


def test_release_uses_random_stream_of_its_block():
    challenger = Challenger(lambda dataset, rng: rng.random(), (0, 1), None)
    members = np.zeros((3, 1), dtype=bool)
    expected = np.random.default_rng(5).random(3).tolist()
    assert challenger.release(members, np.random.default_rng(5)) == expected


@pytest.mark.parametrize("pair", [(1,), (1, 2, 3), 5, "ab", {1: 2, 3: 4}])
def test_pair_must_have_two_inputs(pair):
    with pytest.raises(BadInput, match="without the target, then the one with it"):
        Challenger(shown, pair, None)


def test_release_must_be_callable():
    with pytest.raises(BadInput, match="callable"):
        Challenger("laplace", (0, 1), None)


def test_user_arrays_stay_writable():
    mine = np.zeros(2)
    Challenger(shown, (mine, np.ones(2)), None)
    mine[0] = 5


def test_function_whose_file_holds_other_text_is_named(tmp_path):
    """Python 3.13 raises an error of its tokenizer for it, earlier versions another one or none."""
    file = tmp_path / "changed.py"
    space: dict = {"__name__": "changed"}
    exec(compile("def release(values, rng):\n    return 0\n", str(file), "exec"), space)
    file.write_text("an 'unfinished text\n" * 5)
    assert function_source(space["release"]) in ("changed.release", "an 'unfinished text\n")
