import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from leakgauge.catalog import prepare_audit
from leakgauge.core.errors import BadInput
from leakgauge.plan import plan_of
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.dry_run import (
    _JUDGING,
    _MARGIN,
    _REPORT,
    _TRIAL,
    _AuditCost,
    _block_memory,
    _ControlCost,
    _RoundCost,
    dry_run,
)
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.play_block import study_attacks
from leakgauge.runner.run import EngineOptions
from leakgauge.support.work_count import TRAINING, count_work, counting_work, sampling_work


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


def test_estimate_matches_release_of_known_speed(plan, monkeypatch):
    """A release that takes 1 ms a round: 400 rounds are 0.4 s, and half of that with two workers."""
    given = plan(rounds=400, block=50)
    slow_release(monkeypatch)
    rest = _REPORT + 400 * _JUDGING
    assert dry_run(given).seconds == pytest.approx(0.4 + rest)
    assert dry_run(given, EngineOptions(workers=2)).seconds == pytest.approx(0.2 + rest)


def test_range_is_around_the_estimate(plan, monkeypatch):
    given = plan(rounds=400, block=50)
    slow_release(monkeypatch)
    cost, expected = dry_run(given), 0.4 + _REPORT + 400 * _JUDGING
    assert cost.seconds == pytest.approx(expected)
    assert cost.seconds_range == pytest.approx((expected / _MARGIN, expected * _MARGIN))
    assert cost.round_seconds == pytest.approx(1e-3 + _JUDGING)


def slow_release(monkeypatch, work=1e-3):
    """A release of 1 ms a round, or as given."""
    from leakgauge.domains.coin import challenger

    clock, release = [0.0], challenger.Challenger.release
    monkeypatch.setattr("leakgauge.runner.dry_run.perf_counter", lambda: clock[0])

    def slow(self, members, rng):
        clock[0] += work * len(members)
        return release(self, members, rng)

    monkeypatch.setattr(challenger.Challenger, "release", slow)


@pytest.mark.parametrize(("rounds", "block"), [(4_000, 500), (100, 100), (40, 20), (8, 8), (1, 1)])
def test_few_rounds_of_each_kind_of_audit_are_played(plan, monkeypatch, rounds, block):
    """Points of a sweep over the mechanism are of one kind."""
    from leakgauge.domains.coin import challenger

    played, release = [], challenger.Challenger.release

    def counted(self, members, rng):
        played.append(len(members))
        return release(self, members, rng)

    monkeypatch.setattr(challenger.Challenger, "release", counted)
    cost = dry_run(plan(rounds=rounds, block=block, sweep='{ "mechanism.epsilon" = [1.0, 2.0, 3.0] }'))
    assert (cost.measured, cost.rounds) == (1, 3 * rounds)
    assert max(played) <= min(16, block)
    assert sum(played) <= 5 + 2 * (1 + 16)


@pytest.mark.parametrize(("work", "together"), [(0.5, 8), (10.0, 2)])
def test_of_slow_rounds_fewer_are_played(plan, monkeypatch, work, together):
    from leakgauge.domains.coin import challenger

    given = plan(rounds=400, block=50)
    slow_release(monkeypatch, work=work)
    played, release = [], challenger.Challenger.release

    def counted(self, members, rng):
        played.append(len(members))
        return release(self, members, rng)

    monkeypatch.setattr(challenger.Challenger, "release", counted)
    assert dry_run(given).seconds == pytest.approx(400 * work + _REPORT + 400 * _JUDGING)
    assert max(played) == together


@pytest.mark.parametrize("busy", [1.0, 3.0])
def test_requests_take_their_time_however_busy_the_machine_is(busy):
    audit = _AuditCost(
        trials=100,
        splits=1,
        n_targets=1,
        repeatable=True,
        notes=(),
        rate=4.0,
        request_total=50,
        blocks=1,
        setup_seconds=0.0,
        study_seconds=busy,
        playing_seconds=10.0 * busy,
        memory=0.0,
        work=Counter(request=100),
        further=0,
        control=_ControlCost(seconds=4.0 * busy, work=Counter(request=20)),
    )
    assert audit.seconds == {1.0: 25.0 + 5.0, 3.0: 33.0 + 12.0}[busy]
    assert audit.round_seconds(100) == {1.0: 0.25, 3.0: 0.3}[busy]
    assert audit.starts == 3


def test_time_and_work_of_rounds_grow_with_rounds_blocks_and_parts():
    cost = _RoundCost(1.0, 0.25, {"training": 2.0}, {"training": 0.5})
    assert cost.seconds(100, 1, 12) == 37.0  # 12 parts take 1 s each, 100 rounds 0.25 s each
    assert cost.seconds(100, 10, 12) == 10 * 10 + 25.0  # a block of ten rounds has ten parts
    assert cost.work(100, 10) == {"training": 70}


HEALTHY = "{ promised = 1.0, unprotected = 20.0 }"


def test_control_costs_rounds_and_time(plan, monkeypatch):
    """A release that takes 1 ms a round: the control takes 0.1 s more, once for all points of a sweep."""
    plan()  # makes the domain of the tests known
    slow_release(monkeypatch)
    settings = {"rounds": 400, "block": 50}
    without, with_control = dry_run(plan(**settings)), dry_run(plan(**settings, challenger=HEALTHY))
    assert (without.control_rounds, without.control_seconds) == (0, 0.0)
    assert with_control.control_rounds == 100
    assert with_control.control_seconds == pytest.approx(0.1)
    assert with_control.seconds - without.seconds == pytest.approx(0.1)
    sweep = '{ "mechanism.epsilon" = [1.0, 2.0, 3.0] }'
    swept = plan(**settings, challenger=HEALTHY, sweep=sweep)
    cost = dry_run(swept)
    assert (cost.measured, cost.control_rounds) == (1, 100)  # other points have the control of the first
    different = '{ "challenger.unprotected" = [20.0, 30.0, 40.0] }'
    cost = dry_run(plan(**settings, challenger=HEALTHY, sweep=different))
    assert (cost.measured, cost.control_rounds) == (3, 300)


def test_trainings_are_counted_as_a_run_does_them(tmp_path, monkeypatch):
    """Rounds, shadows, and both again for the positive control."""
    from leakgauge.domains.models import shadow_models
    from leakgauge.plan import plan_of
    from leakgauge.runner.run import run_plan
    from leakgauge.support.cache import RecentCache
    from leakgauge.support.work_count import counting_work

    small = {"members": 12, "targets": 1, "epochs": 2, "batch": 12, "hidden": []}
    audit = {
        "name": "a",
        "domain": "models",
        "rounds": 40,
        "block": 20,
        "data": {"rows": 240, "features": 8},
        "challenger": small,
        "mechanism": {"name": "dp_sgd", "sigma": 1.0, "relation": "replace_one"},
        "attacks": ["loss_threshold", {"name": "shadow", "shadows": 8}],
    }
    given = plan_of({"seed": 3, "audit": [audit]})
    cost = dry_run(given)
    monkeypatch.setattr(shadow_models, "_shadow_cache", RecentCache())
    with counting_work() as counts:
        run_plan(given, tmp_path / "out")
    assert cost.work == dict(counts)
    assert cost.work["training"] == 40 + 8 + cost.control_work["training"]
    assert cost.control_work["training"] == cost.control_rounds + 8


def test_dry_run_of_many_trainings_trains_few(monkeypatch):
    """200 rounds and 32 shadows are counted, and a few models trained."""
    from leakgauge.domains.models.training.trainers import random_forest
    from leakgauge.plan import plan_of

    trained = []
    fit = random_forest.Trainer.fit

    def counted(self, *given, **more):
        trained.append(1)
        return fit(self, *given, **more)

    monkeypatch.setattr(random_forest.Trainer, "fit", counted)
    audit = {
        "name": "a",
        "domain": "models",
        "rounds": 200,
        "data": {"rows": 240, "features": 4},
        "challenger": {"trainer": {"name": "random_forest", "trees": 3}, "members": 60},
        "mechanism": {"name": "none"},
        "attacks": ["lira", "rmia"],
    }
    cost = dry_run(plan_of({"seed": 3, "audit": [audit]}))
    assert cost.work["training"] - cost.control_work["training"] == 232
    assert len(trained) <= 20


def test_splits_of_the_people_are_counted_for_the_rounds_that_limits_need():
    audit = {
        "name": "town",
        "domain": "locations",
        "rounds": 40,
        "data": {"source": "synthetic", "users": 200, "sites": 9, "epochs": 24},
        "mechanism": {"name": "laplace", "epsilon": 1.0},
        "attacks": [{"name": "likelihood", "knowledge": "informed"}],
    }
    for challenger, splits in (({"group_size": 30, "splits": 11}, 11), ({"group_size": "everyone"}, 1)):
        cost = dry_run(plan_of({"seed": 1, "audit": [{**audit, "challenger": challenger}]}))
        assert cost.splits == (splits,)


def test_attacks_study_few_of_many_splits(monkeypatch):
    """Of 12 splits one is studied, in the audit and in its control; the time of all is in the estimate."""
    from leakgauge.domains.locations.attacks import likelihood

    studied, study = [], likelihood.Attack.study

    def slow(self, knowledge, rng):
        studied.append(1)
        sleep(0.05)
        return study(self, knowledge, rng)

    monkeypatch.setattr(likelihood.Attack, "study", slow)
    audit = {
        "name": "town",
        "domain": "locations",
        "rounds": 24,
        "data": {"source": "synthetic", "users": 200, "sites": 9, "epochs": 24},
        "challenger": {"group_size": 30, "splits": 12},
        "mechanism": {"name": "laplace", "epsilon": 1.0},
        "attacks": [{"name": "likelihood", "knowledge": "auxiliary"}],
    }
    cost = dry_run(plan_of({"seed": 1, "audit": [audit]}))
    assert len(studied) <= 4
    assert cost.seconds > 12 * 0.05 + _REPORT


def test_dry_run_simulates_few_of_the_shadows_of_a_study(monkeypatch):
    from leakgauge.domains.blackbox import shadows

    simulated, simulate = [], shadows._simulate_batch

    def counted(how, batch):
        simulated.append(batch.n_rounds)
        return simulate(how, batch)

    monkeypatch.setattr(shadows, "_simulate_batch", counted)
    audit = {
        "name": "noise",
        "domain": "blackbox",
        "rounds": 1_000,
        "mechanism": {"name": "laplace", "epsilon": 1.0},
        "challenger": {"pair": [0, 1]},
        "attacks": ["likelihood", "learned_event"],
    }
    dry_run(plan_of({"seed": 1, "audit": [audit]}))
    assert 0 < sum(simulated) < 2 * 20_000 / 3


def test_work_of_steps_that_are_left_out_is_counted():
    with sampling_work() as sample, counting_work() as counts:
        found = [sample.take("split", lambda number=number: _train(number)) for number in range(5)]
    assert found == [0] * 5
    assert counts == {TRAINING: 15}


def test_long_step_that_loads_a_library_is_carried_out_again(monkeypatch):
    """Loading counts once: of three steps of 1.2 s the first loads for 4.8 s: 8.4 s in all."""
    clock, done = [0.0], []
    monkeypatch.setattr("leakgauge.support.work_count.perf_counter", lambda: clock[0])

    def step():
        if not done:
            monkeypatch.setitem(sys.modules, "a_library_of_this_test", sys)
        clock[0] += 1.2 if done else 6.0
        done.append(1)

    with sampling_work() as sample:
        for _ in range(3):
            sample.take("training", step)
    assert len(done) == 2
    assert clock[0] + sample.skipped_seconds == pytest.approx(6.0 + 2 * 1.2)


def test_rounds_of_one_split_are_timed_and_each_split_counts(monkeypatch):
    """A release that takes 1 s for each split in a block and 0.1 s for each round: 12 s and 10 s a block."""
    from leakgauge.domains.locations import challenger

    clock, release = [0.0], challenger.Challenger.release_rounds
    for name in ("runner.dry_run.perf_counter", "support.work_count.perf_counter"):
        monkeypatch.setattr(f"leakgauge.{name}", lambda: clock[0])

    def slow(self, rounds, members, rng):
        clock[0] += 0.1 * len(members) + len({number % 12 for number in rounds})
        return release(self, rounds, members, rng)

    monkeypatch.setattr(challenger.Challenger, "release_rounds", slow)
    audit = {
        "name": "town",
        "domain": "locations",
        "rounds": 200,
        "block": 100,
        "data": {"source": "synthetic", "users": 200, "sites": 9, "epochs": 24},
        "challenger": {"group_size": 30, "splits": 12, "targets": 1},
        "mechanism": {"name": "laplace", "epsilon": 1.0},
        "attacks": [{"name": "likelihood", "knowledge": "informed"}],
    }
    cost = dry_run(plan_of({"seed": 1, "audit": [audit]}))
    assert cost.seconds - cost.control_seconds == pytest.approx(2 * (12 + 10) + _REPORT + 200 * _JUDGING)


def test_memory_is_that_of_a_block_and_not_of_what_is_computed_once():
    """Tables of a split of the people are held once, however many rounds use them."""
    audit = {
        "name": "shops",
        "domain": "locations",
        "rounds": 40,
        "block": 20,
        "data": {"source": "synthetic", "users": 300, "sites": 40, "epochs": 7, "visits": 5},
        "challenger": {"group_size": "everyone", "per_user": 10, "targets": {"n": 5, "min_visits": 5}},
        "mechanism": {"name": "laplace", "epsilon": 0.1, "unit": "user", "round": True, "clamp": True},
        "attacks": [{"name": "likelihood", "knowledge": knows} for knows in ("auxiliary", "zero")],
    }
    given = plan_of({"seed": 1, "audit": [audit]})
    estimated = dry_run(given).memory - _TRIAL * 40 * 5 * 2
    prepared = prepare_audit(given.audits[0], given)
    play = study_attacks(prepared, given.seed, InProcessEngine())
    tracemalloc.start()
    play(RoundBlock(0, range(20)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= estimated <= 3 * peak


def _train(number):
    count_work(TRAINING, 3)
    return number


def test_every_audit_is_set_up_also_if_it_is_not_measured(plan):
    given = plan(sweep='{ "challenger.targets" = [1, 5] }', challenger="{ promised = 1.0 }")
    cost = dry_run(given)
    assert (cost.measured, cost.trials) == (2, 100 * (1 + 5))
    assert cost.memory > 100 * 5 * _TRIAL
    wrong = plan(sweep='{ "mechanism.epsilon" = [1.0, "much"] }')
    with pytest.raises(BadInput, match="much"):
        dry_run(wrong)


@pytest.mark.parametrize(
    ("audits", "trainings"),
    [
        ([(40, 8, True), (400, 8, True)], 40 + 400 + 2 * 8 + 100 + 8),
        ([(4_000, 8, True), (40, 8, True)], 4_000 + 40 + 2 * 8 + 100 + 8),
        ([(40, 4, False), (40, 8, True)], 2 * 40 + 4 + 8 + 2 * 100 + 4 + 8),
    ],
)
def test_trainings_of_an_audit_that_is_not_measured_follow_its_rounds(audits, trainings):
    """Rounds, shadows and controls; audits that differ in their rounds share a control.

    They share the shadows of the study, too, which is not known of audits that are not measured.
    """
    tables = [
        {
            "name": f"audit-{number}",
            "domain": "models",
            "rounds": rounds,
            "data": {"rows": 240, "features": 8},
            "challenger": {"members": 12, "targets": 1, "epochs": 2, "batch": 12, "hidden": []},
            "mechanism": {"name": "dp_sgd", "sigma": 1.0, "relation": "replace_one"},
            "attacks": ["loss_threshold"] * both + [{"name": "shadow", "shadows": shadows}],
        }
        for number, (rounds, shadows, both) in enumerate(audits)
    ]
    cost = dry_run(plan_of({"seed": 3, "audit": tables}))
    assert cost.measured == len({shadows for _, shadows, _ in audits})
    assert cost.work == {"training": trainings}


def test_dry_run_loads_no_library_that_its_attacks_do_not_need():
    """Loading takes longer than all else in the dry run of a small plan."""
    plan_file = Path(__file__).parents[2] / "examples" / "laplace-sweep" / "plan.toml"
    program = (
        "import sys; from leakgauge.cli.main import main; "
        f"code = main(['run', {str(plan_file)!r}, '--dry-run']); "
        "print('loaded:', code, *sorted({name.partition('.')[0] for name in sys.modules}), "
        "*(name for name in sys.modules if name == 'scipy.stats'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert loaded[:2] == ["loaded:", "0"]
    assert "numpy" in loaded
    assert not {"sklearn", "pandas", "altair", "torch", "duckdb", "numba", "rich", "scipy.stats"} & {*loaded}


@pytest.mark.parametrize("block", [1, 2, 3, 4, 10])
def test_memory_of_a_block_is_not_below_what_its_rounds_hold(block):
    def play(some):
        held = [np.ones(200_000) for _ in some.rounds]
        return {} if held else None

    (first, more, _), _ = _block_memory(play, block)
    assert 0.99 * block <= (first + (block - 1) * more) / 1.6e6 <= 2 * block


def test_transcripts_count_in_the_time(monkeypatch):
    audit = {
        "name": "service",
        "domain": "queries",
        "rounds": 200,
        "data": {"source": "synthetic", "records": 50},
        "mechanism": {"name": "laplace", "epsilon": 0.5},
        "challenger": {"targets": 1, "query": {"kind": "count"}},
        "attacks": [{"name": "split_midpoint", "queries": 5}],
    }
    given = plan_of({"seed": 1, "audit": [audit]})
    monkeypatch.setattr("leakgauge.runner.dry_run.perf_counter", lambda: 0.0)
    monkeypatch.setattr("leakgauge.runner.dry_run._COMPARING", 0.0)
    without = dry_run(given).seconds
    monkeypatch.setattr("leakgauge.runner.dry_run._COMPARING", 1.0)
    assert dry_run(given).seconds - without >= 200 * 5 * 2 * 8  # at least each answer and the truth
