import numpy as np

from leakgauge.strategies.candidates import Lone, Sum, Tied
from leakgauge.strategies.classifiers import Boosted
from leakgauge.strategies.clues import Reader, Sample
from leakgauge.strategies.outputs import tabulate
from leakgauge.strategies.proposals import propose

MEMBERS = np.arange(400) % 2 == 0


def proposed(outputs):
    return propose(Sample(Reader(tabulate(outputs)), MEMBERS))


def test_the_clue_that_tells_most_comes_first():
    rng = np.random.default_rng(1)
    outputs = [[float(noise), "x" if member else "y"] for noise, member in zip(rng.normal(size=400), MEMBERS)]
    first = proposed(outputs)[0]
    assert isinstance(first, Lone)
    assert (
        (first.learn(Sample(Reader(tabulate(outputs)), MEMBERS))(Reader(tabulate(outputs))) > 0) == MEMBERS
    ).all()


def test_single_numbers_need_no_trees_and_vectors_get_everything():
    rng = np.random.default_rng(2)
    assert not any(
        isinstance(candidate, Boosted | Tied) for candidate in proposed(rng.normal(size=400).tolist())
    )
    kinds = {type(candidate) for candidate in proposed(list(rng.normal(size=(400, 3))))}
    assert {Lone, Sum, Tied, Boosted} <= kinds


def test_every_proposal_can_be_learned_from_words_alone():
    outputs = [["above", "below", "above"][: 1 + n % 3] for n in range(400)]
    sample = Sample(Reader(tabulate(outputs)), MEMBERS)
    for candidate in propose(sample):
        assert np.isfinite(candidate.learn(sample)(sample.reader)).all()
