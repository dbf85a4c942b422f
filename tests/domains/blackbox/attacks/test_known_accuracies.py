"""The three rules that know the law, played against the exact table of what they reach on k noisy cells."""

import numpy as np
import pytest

from leakgauge import catalog
from leakgauge.core.game import Adversary, play
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.blackbox import challenger, knowledge

ROUNDS = 40_000
# Balanced accuracy by number of cells: Laplace noise of scale 2 and Gaussian noise of sigma 8.2543, shift 1.
LAPLACE = {
    "one_threshold": {1: 0.6106, 20: 0.7888, 60: 0.9150, 140: 0.9817},
    "two_threshold": {1: 0.6106, 20: 0.8387, 60: 0.9580, 140: 0.9959},
    "likelihood": {1: 0.6106, 20: 0.8509, 60: 0.9639, 140: 0.9970},
}
GAUSSIAN = {
    "one_threshold": {1: 0.5241, 60: 0.6805, 140: 0.7632},
    "two_threshold": {1: 0.5241, 60: 0.6453, 140: 0.7159},
    "likelihood": {1: 0.5241, 60: 0.6805, 140: 0.7632},
}
CASES = [
    (noise, attack, k, accuracy)
    for noise, table in (("laplace", LAPLACE), ("gaussian", GAUSSIAN))
    for attack, row in table.items()
    for k, accuracy in row.items()
]


@pytest.mark.parametrize(("noise", "attack", "k", "accuracy"), CASES)
def test_accuracy_matches_exact_table(noise, attack, k, accuracy, tmp_path):
    law = {"laplace": {"scale": 2.0}, "gaussian": {"sigma": 8.2543, "delta": 1e-5}}[noise]
    pair = [[0.0] * k, [1.0] * k]
    game = challenger.build(
        data={}, challenger={"pair": pair}, mechanism={"name": noise, **law}, folder=tmp_path, seed=1
    )
    knows = knowledge.build("law", {}, game, 1)
    rule = catalog.build(catalog.attacks_package("blackbox"), "Attack", attack, {})
    adversary = Adversary(knows, rule.study(knows, stream(1, Role.STUDY)))
    found = play(game, {"it": adversary}, seed=5, rounds=range(ROUNDS), block=0)["it"]
    tied = found.scores == 0  # a tied vote is a coin
    right = np.where(tied, 0.5, (found.scores > 0) == found.members)
    measured = (right[found.members].mean() + right[~found.members].mean()) / 2
    assert measured == pytest.approx(accuracy, abs=3 * np.sqrt(accuracy * (1 - accuracy) / ROUNDS))
