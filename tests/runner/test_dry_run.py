import pytest

from leakgauge.runner.dry_run import _JUDGING, _REPORT, _extrapolate, dry_run
from leakgauge.runner.run import EngineOptions


def test_dry_run_counts_and_writes_nothing(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = plan(
        sweep='{ "mechanism.epsilon" = [1.0, 2.0, 3.0] }',
        attacks='["peek", "sleep"]',
        challenger="{ targets = 5 }",
    )
    before = sorted(tmp_path.rglob("*"))
    cost = dry_run(given)
    assert (cost.audits, cost.verdicts, cost.rounds, cost.blocks) == (3, 6, 300, 12)
    assert cost.trials == 3 * 100 * 5 * 2
    assert cost.seconds > 0
    assert cost.memory > 100 * 5 * 2 * 25
    assert sorted(tmp_path.rglob("*")) == before


def test_unmeasured_audits_are_assumed_equally_expensive(plan, monkeypatch):
    monkeypatch.setattr("leakgauge.runner.dry_run._PATIENCE", -1.0)
    cost = dry_run(plan(sweep='{ "mechanism.epsilon" = [1.0, 2.0, 3.0] }', challenger="{ targets = 5 }"))
    assert cost.measured == 1
    assert cost.trials == 3 * 100 * 5


def test_estimate_matches_release_of_known_speed(plan, monkeypatch):
    """A release that takes 1 ms a round: 400 rounds are 0.4 s, and half of that with two workers."""
    clock = [0.0]
    monkeypatch.setattr("leakgauge.runner.dry_run.perf_counter", lambda: clock[0])
    given = plan(rounds=400, block=50)
    from leakgauge.domains.coin import challenger

    release = challenger.Challenger.release

    def slow(self, members, rng):
        clock[0] += 1e-3 * len(members)
        return release(self, members, rng)

    monkeypatch.setattr(challenger.Challenger, "release", slow)
    rest = _REPORT + 400 * _JUDGING
    assert dry_run(given).seconds == pytest.approx(0.4 + rest)
    assert dry_run(given, EngineOptions(workers=2)).seconds == pytest.approx(0.2 + rest)


def test_extrapolation_never_decreases():
    assert _extrapolate([(10, 1.0), (20, 2.0)], 100) == pytest.approx(10.0)
    assert _extrapolate([(10, 2.0), (20, 1.0)], 100) == 1.0
    assert _extrapolate([(10, 1.0), (10, 1.0)], 10) == 1.0
