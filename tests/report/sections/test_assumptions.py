import pytest

from leakgauge.core.game import Coins
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.sections.assumptions import COINS, section


@pytest.fixture
def read(plain):
    return lambda *verdicts, **manifest: plain(section(JudgedRun(verdicts, manifest)).html)


def test_every_kind_of_coins_has_a_text():
    assert set(COINS) == {coins.value for coins in Coins}


def test_coin_kinds_are_described_separately(make, read):
    text = read(make(), make("unpromised"))
    assert "assigned at random: each target" in text
    assert "given by a file or a split" in text
    assert "For scores computed elsewhere" in text
    assert "For scores computed elsewhere" not in read(make())


def test_shared_rounds_are_mentioned(make, read):
    assert "Several targets in one release" in read(make("many targets"))
    assert "Several targets in one release" not in read(make())


def test_correction_and_rounds_are_mentioned(make, read):
    text = read(make("undecided", corrected_for=12), make("undecided", rounds_needed=None, label="never"))
    assert "divided by 12, the number of attackers" in text
    assert "one-threshold one_threshold auxiliary fair 20 1 12 no 66,048" in text
    assert "never enough" in text


def test_early_stopping_is_mentioned(make, read):
    text = read(make("violated", stopped_early=True), looks=7)
    assert "For 1 attacker the audit stopped as soon as a violation was shown" in text
    assert "at any time (it was read 7 times);" in text
    assert "Intervals hold for a number fixed beforehand" in read(make())


def test_methods_are_listed(make, read):
    text = read(make(), make("violated"), make("undecided"))
    assert "ε shown one run, 13 guess fractions (Bonferroni) 95% 2" in text
    assert "ε shown jackknife 95% 1" in text


def test_settings_are_shown_without_raw_values(make, read):
    parameters = {
        "data": {"source": "visits.parquet", "columns": {"user": "u"}},
        "challenger": {"pair": list(range(99))},
    }
    text = read(make(parameters=parameters))
    assert "source = visits.parquet, columns = user = u" in text
    assert "pair = (99 values)" in text
    assert "98" not in text
