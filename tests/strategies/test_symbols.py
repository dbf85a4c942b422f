import numpy as np

from leakgauge.strategies.symbols import Symbols


def test_whole_outputs_are_their_own_bins():
    outputs = np.array([3.0, -2.0, 5.0, 5.0])
    symbols = Symbols.of(outputs, np.zeros(4, dtype=np.int64))
    assert symbols.whole
    assert (symbols.step, symbols.first, symbols.n, symbols.per_count) == (1.0, -2, 8, 1)
    assert symbols.columns(outputs).tolist() == [5, 0, 7, 7]


def test_other_outputs_fall_into_bins_that_a_person_moves_by_a_whole_number():
    rng = np.random.default_rng(1)
    counts = rng.poisson(4, 5000)
    symbols = Symbols.of(counts + rng.laplace(scale=0.7, size=5000), counts)
    assert not symbols.whole
    assert symbols.per_count * symbols.step == 1
    assert 0.7 / 32 < symbols.step < 0.7 / 8
    outputs = np.array([2.3, 3.3])
    assert np.diff(symbols.columns(outputs)).tolist() == [symbols.per_count]


def test_values_that_recur_are_kept_apart():
    rng = np.random.default_rng(1)
    outputs = np.maximum(rng.laplace(scale=2.0, size=5000), 0.0)
    outputs = np.where(outputs > 7, 7.0, outputs)
    symbols = Symbols.of(outputs, np.zeros(5000, dtype=np.int64))
    assert symbols.atoms.tolist() == [0.0, 7.0]
    assert symbols.columns(np.array([0.0, 7.0])).tolist() == [symbols.n_bins, symbols.n_bins + 1]
    assert symbols.atom(np.array([0.01, 3.0])).tolist() == [-1, -1]
