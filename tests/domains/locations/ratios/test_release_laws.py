import numpy as np
import pytest

from domains.locations.small_town import game, pipeline_file, town
from leakgauge.core.errors import BadInput
from leakgauge.core.loading import Loader
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.ratios.release_laws import law_of

COINS = """
import numpy as np
def publish(counts, rng):
    return counts + rng.integers(0, 2, size=counts.shape)
def law(outputs, counts):
    return np.where((outputs == counts) | (outputs == counts + 1), np.log(0.5), -np.inf)
"""


def knowledge(name, folder, **mechanism):
    pipeline_file(folder, COINS)
    table = {"name": "own", "release": "mine:publish", **mechanism}
    return build(name, {}, game(town(n_people=200), table, loader=Loader(folder), group_size=60), 1)


def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("name", ["auxiliary", "past", "zero"])
def test_the_law_of_a_chain_is_its_own(name):
    challenger = game(town(), {"name": "laplace", "epsilon": 1.0})
    law = law_of(build(name, {}, challenger, 1), rng())
    assert isinstance(law, Chain)
    assert law is challenger.chain


@pytest.mark.parametrize("name", ["auxiliary", "past", "zero"])
def test_a_law_that_is_given_is_taken(tmp_path, name):
    law = law_of(knowledge(name, tmp_path, law="mine:law"), rng())
    np.testing.assert_allclose(np.exp(law.log_law(np.arange(4.0), np.full(4, 1.0))), [0, 0.5, 0.5, 0])


def test_a_law_is_learned_by_running_the_pipeline_on_people_one_knows(tmp_path):
    law = law_of(knowledge("auxiliary", tmp_path), rng())
    found = np.exp(law.log_law(np.arange(12, 18.0), np.full(6, 14.0)))
    np.testing.assert_allclose(found, [0, 0, 0.5, 0.5, 0, 0], atol=0.02)
    assert law.whole


@pytest.mark.parametrize("name", ["past", "zero"])
def test_who_has_no_traces_is_told_what_to_do(tmp_path, name):
    with pytest.raises(
        BadInput, match=rf"knowledge '{name}' .*give mechanism\.law, or use knowledge = \"auxiliary\""
    ):
        law_of(knowledge(name, tmp_path), rng())
