from pathlib import Path

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.blackbox.challenger import Challenger
from leakgauge.domains.blackbox.release import MechanismRelease, run_release
from leakgauge.mechanisms import laplace, noisy_max

MEMBERS = np.array([False, True, True, False])


def opened(function, pair=(0, 1), members=MEMBERS):
    box = Challenger(function, pair, None)
    return run_release(box.function, box.pair, members, np.random.default_rng(1))


@pytest.mark.parametrize(
    "output", [1, 2.5, True, "text", None, [1, None], (1, "a"), {"a": {"b": [1]}}, float("nan"), float("inf")]
)
def test_outputs_are_returned_unchanged(output):
    found = opened(lambda dataset, rng: output)
    assert len(found) == 4
    assert all(type(one) is type(output) and repr(one) == repr(output) for one in found)


def test_failing_release_is_reported_with_round_and_input():
    def fails(dataset, rng):
        if dataset == 1:
            raise ValueError("no\nnoise left")
        return 0

    with pytest.raises(BadInput) as caught:
        opened(fails)
    where = f"({__file__}, line {fails.__code__.co_firstlineno + 2})".replace(f"{Path.cwd()}/", "")
    assert str(caught.value) == (
        f"release raised ValueError: no noise left {where} in round 1 of its block, for the input with the "
        "target"
    )
    assert isinstance(caught.value.__cause__, ValueError)


def test_rejects_writing_to_array():
    def writes(dataset, rng):
        dataset += 1
        return 0

    with pytest.raises(BadInput, match=r"tried to change its input in round 0 .* without the target: .*copy"):
        opened(writes, (np.zeros(2), np.ones(2)))


def test_array_cannot_be_made_writable():
    def insists(dataset, rng):
        dataset.flags.writeable = True
        dataset[0] = 7
        return 0

    with pytest.raises(BadInput, match="ValueError"):
        opened(insists, (np.zeros(2), np.ones(2)))


@pytest.mark.parametrize(
    ("pair", "change"),
    [
        (([1, 2], [1, 2, 3]), lambda data: data.append(4)),
        (({"a": 1}, {"a": 2}), lambda data: data.update(a=9)),
        (([[1], [2]], [[1], [2], [3]]), lambda data: data[0].append(5)),
        ((([1],), ([1], [2])), lambda data: data[0].append(5)),
        (({"a": np.zeros(2)}, {"a": np.ones(2)}), lambda data: data["a"].__setitem__(0, 3)),
    ],
)
def test_other_input_mutations_are_detected(pair, change):
    def changes(dataset, rng):
        change(dataset)
        return 0

    with pytest.raises(BadInput, match="changed its input, the one without the target"):
        opened(changes, pair)


def test_reading_an_input_is_allowed():
    data = [3, 1, 2], {"a": {1, 2}}
    assert opened(lambda dataset, rng: len(sorted(dataset)), data) == [3, 1, 1, 3]


def test_returned_list_is_copied():
    mine: list[float] = [0.0]
    mine_too = np.zeros(1)

    def reuses(dataset, rng):
        mine[0] = mine_too[0] = rng.random()
        return mine

    def reuses_an_array(dataset, rng):
        reuses(dataset, rng)
        return mine_too

    assert len({output[0] for output in opened(reuses)}) == 4
    assert len({float(output[0]) for output in opened(reuses_an_array)}) == 4


def test_unsupported_output_is_reported():
    with pytest.raises(BadInput, match="of type 'set'"):
        opened(lambda dataset, rng: [1, {2}])


def test_named_mechanism_is_sampled_per_block():
    members = np.arange(40_000) % 2 == 0
    outputs = opened(
        MechanismRelease(laplace.Mechanism(epsilon=1.0)), (np.zeros(2), np.array([1.0, 5.0])), members
    )
    rows = np.array(outputs)
    assert rows.shape == (40_000, 2)
    np.testing.assert_allclose(rows[members].mean(axis=0), [1, 5], atol=0.05)
    np.testing.assert_allclose(rows[~members].mean(axis=0), [0, 0], atol=0.05)


def test_named_mechanism_accepts_scalars():
    assert np.shape(opened(MechanismRelease(laplace.Mechanism(epsilon=1.0)), (0, 1))) == (4,)
    chosen = opened(MechanismRelease(noisy_max.Mechanism(epsilon=1e6)), ([3, 1], [1, 3]))
    assert chosen == [0, 1, 1, 0]


@pytest.mark.parametrize("wrap", [lambda a: {"a": a}, lambda a: [a], lambda a: a])
def test_release_may_reuse_its_output_object(wrap):
    kept = np.zeros(1)

    def reuses(dataset, rng):
        kept[0] = rng.random()
        return wrap(kept)

    assert len({str(output) for output in opened(reuses)}) == len(MEMBERS)


def test_system_exit_in_release_is_an_error():
    def leaves(dataset, rng):
        raise SystemExit(0)

    with pytest.raises(BadInput, match="release raised SystemExit"):
        opened(leaves)


def test_release_stdout_is_suppressed(capsys):
    opened(lambda dataset, rng: print("hello"))
    assert capsys.readouterr().out == ""
