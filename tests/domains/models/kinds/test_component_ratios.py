import numpy as np
import pytest

from leakgauge.domains.models.kinds.component_ratios import mixture_ratio, odds

MODELS = np.array(
    [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]]
)  # chance of a model, a row per component
RECORDS = np.array([[0.5, 0.4, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])


def enumerated(model: int, record: int) -> float:
    """Bayes' rule by going through the game: a component, a coin, a record of it or of another component."""
    chance = {True: 0.0, False: 0.0}
    for members in range(3):
        for coin in (True, False):
            sources = [members] if coin else [kind for kind in range(3) if kind != members]
            for source in sources:
                drawn = 1 / 3 * 1 / 2 / len(sources)
                chance[coin] += drawn * MODELS[members, model] * RECORDS[source, record]
    return chance[True] / chance[False]


@pytest.mark.parametrize("model", range(3))
@pytest.mark.parametrize("record", range(3))
def test_the_ratio_is_what_going_through_the_whole_game_gives(model, record):
    found = mixture_ratio(np.log(MODELS[:, model]), np.log(RECORDS[:, record]))
    assert np.exp(found) == pytest.approx(enumerated(model, record))


def test_where_the_component_of_members_is_known_only_the_record_counts():
    sure = np.array([-np.inf, 0.0, -np.inf])
    of_record = np.log(RECORDS[:, 2])
    assert odds(of_record, 1) == pytest.approx(np.log(0.6 / ((0.1 + 0.1) / 2)))
    assert mixture_ratio(sure, of_record) == pytest.approx(odds(of_record, 1))


def test_chances_too_small_to_write_out_are_compared_all_the_same():
    far = np.array([0.0, -2000.0])
    assert mixture_ratio(far, far) == pytest.approx(2000 - np.log(2))
