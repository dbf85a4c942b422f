from dataclasses import replace

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.exposure import EXPOSURE_METRICS, AdversaryExposure, Exposure


def against(name: str, auc: list[float]) -> AdversaryExposure:
    values = np.array(auc)
    return AdversaryExposure(adversary=name, basis="", accuracy=values, auc=values, tpr=values / 2, error=0.0)


def test_sorted_by_exposure_with_ties_broken_by_next_adversary():
    exposure = Exposure(
        names=np.array(["a", "b", "c", "d"]),
        cells=np.ones(4, dtype=np.int64),
        against=(against("informed", [0.5, 0.9, 0.9, 0.7]), against("zero", [0.9, 0.6, 0.8, 0.5])),
    )
    assert exposure.names[exposure.order].tolist() == ["c", "b", "d", "a"]
    assert exposure.n_people == 4


def test_whoever_is_identified_most_often_comes_first():
    """As the terminal and the report call the person with the largest accuracy the most exposed."""
    one = replace(against("informed", [0.8, 0.7]), accuracy=np.array([0.6, 0.65]))
    exposure = Exposure(names=np.array(["a", "b"]), cells=np.ones(2, dtype=np.int64), against=(one,))
    assert exposure.names[exposure.order].tolist() == ["b", "a"]


def test_every_metric_has_name():
    one = against("zero", [0.8])
    assert [one.metric(name)[0] for name in EXPOSURE_METRICS] == [0.8, 0.8, 0.4]


def test_rejects_missing_numbers():
    with pytest.raises(BadInput, match="each of 3 people, got 2"):
        Exposure(
            names=np.array(["a", "b", "c"]),
            cells=np.ones(3, dtype=np.int64),
            against=(against("zero", [0.5] * 2),),
        )
