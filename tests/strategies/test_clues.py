import numpy as np

from leakgauge.strategies.clues import Clue, Reader, Sample
from leakgauge.strategies.marks import Exact
from leakgauge.strategies.measures import Coordinate
from leakgauge.strategies.outputs import tabulate


def test_everything_is_read_and_learned_once():
    asked = []

    class Spy(Coordinate):
        def __call__(self, table):
            asked.append(self.place)
            return super().__call__(table)

    members = np.arange(100) % 2 == 0
    sample = Sample(Reader(tabulate(list(range(100)))), members)
    for _ in range(3):
        sample.learn(Clue(Spy(0), 8))
        sample.learn(Clue(Spy(0), 4))
    assert asked == [0]
    assert sample.learn(Clue(Spy(0), 8)) is sample.learn(Clue(Spy(0), 8))


def test_a_learned_clue_speaks_about_other_outputs():
    members = np.arange(200) % 2 == 0
    sample = Sample(Reader(tabulate(["in" if member else "out" for member in members])), members)
    learned = sample.learn(Clue(Exact((0,))))
    other = Reader(tabulate(["out", "in", "never seen"]))
    assert np.sign(learned.bold(other)).tolist() == [-1, 1, 0]
    assert np.sign(learned.cautious(other)).tolist() == [-1, 1, 0]
