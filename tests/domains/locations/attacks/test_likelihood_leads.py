"""Data of similar people never make the likelihood attack worse; its own threshold is near the best one."""

import os

import pytest
from benchmarks.likelihood_leads import PLACES, RIVALS, SETTINGS, Outcomes, _challenger

RIVALS_TRIED = {name: RIVALS[name] for name in ("zero", "never")}


@pytest.mark.nightly
@pytest.mark.parametrize("words", ["k = 1", "k = 3", "epsilon 1"])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_likelihood_attack_is_never_behind(place, words):
    if place.data["source"] != "synthetic" and "LEAKGAUGE_DATA" not in os.environ:
        pytest.skip("real data are not part of the package; LEAKGAUGE_DATA names their folder")
    mechanism, _ = SETTINGS[words]
    outcome = Outcomes.of(_challenger(place, place.group_size), mechanism, place.group_size, RIVALS_TRIED)
    for name in RIVALS_TRIED:
        lead = outcome.lead(name)
        assert lead.difference > -0.005 - 2 * lead.error, name
    own, calibrated = outcome.accuracies()
    assert abs(own - calibrated) < 0.04
