"""The whole search: what is confirmed is right, how often a wrong setting is, and what people read."""

import json
import re
import tomllib
from dataclasses import replace
from math import exp, log
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import leakgauge
from leakgauge import api, catalog
from leakgauge.core.domain import Tunable
from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.core.game import ChallengerDefaults, Coins, Reading, Trials
from leakgauge.limits import Limits
from leakgauge.parameter_search import tune as tune_module
from leakgauge.parameter_search.assessment import SIMULATED, Assessment, RiskAssessor, search_seed
from leakgauge.parameter_search.dimensions import Dimension
from leakgauge.parameter_search.result import moved_plan
from leakgauge.parameter_search.search import SIMULATED_EFFORT, ParameterSearch, usefulness
from leakgauge.plan import plan_of, read_plan, to_toml
from leakgauge.report.tune_page import write_tune_page
from page_numbers import page_words

EPSILON = Dimension(tunable=Tunable(key="mechanism.epsilon", title="epsilon", low=0.001, high=20.0))
LIMIT = 0.6
LARGEST = -2 * log(2 * (1 - LIMIT))


def laplace_plan(rounds=200, **top):
    audit = {
        "name": "one-count",
        "domain": "blackbox",
        "rounds": rounds,
        "mechanism": {"name": "laplace", "epsilon": 1.0},
        "attacks": ["likelihood"],
        "challenger": {"pair": [[0], [1]]},
    }
    return {"seed": 3, "audit": [audit], **top}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune") / "out"
    return leakgauge.tune(laplace_plan(), limits={"accuracy": LIMIT}, out=folder)


def test_the_confirmed_epsilon_is_the_largest_safe_one(tuned):
    epsilon = tuned.setting["mechanism.epsilon"]
    assert 0.99 * LARGEST < epsilon <= LARGEST
    assert tuned.exit_code == 0
    assert tuned.confirmed.risk.high < LIMIT
    assert tuned.lines[0] == f"Largest epsilon confirmed under your limit: {epsilon:.15g}."
    assert "best possible attack" in tuned.lines[1]


def test_the_files_say_the_same(tuned):
    content = json.loads((tuned.folder / "tune.json").read_text())
    assert content["status"] == "confirmed"
    assert content["setting"] == tuned.setting
    assert content["lines"] == list(tuned.lines)
    assert content["search_seed"] == search_seed(3) != content["seed"] == 3
    page = (tuned.folder / "tune.html").read_text()
    assert tuned.lines[0] in page
    assert 'role="img" aria-label="search: ' in page
    assert "your limit: 60%" in page
    assert "Risk and epsilon" in page  # nothing says how useful these releases are
    assert "Risk and utility" not in page


def test_a_flag_is_not_broken_across_lines_of_the_page(tuned, tmp_path):
    content = json.loads((tuned.folder / "tune.json").read_text())
    content["lines"] = ["No setting.", "Simulate more <releases> (--rounds), or vary it."]
    page = write_tune_page(content, tmp_path / "tune.html").read_text()
    shown = '<p>Simulate more &lt;releases&gt; (<code class="flag">--rounds</code>), or vary it.</p>'
    assert shown in page
    assert ".flag { white-space: nowrap; }" in page


def test_a_run_of_the_tuned_plan_is_within_the_limits(tuned, tmp_path):
    path = tuned.folder / "tuned-plan.toml"
    assert path.read_text().startswith("# Made by leakgauge tune")
    assert (
        tomllib.loads(path.read_text())["audit"][0]["mechanism"]["epsilon"]
        == tuned.confirmed.setting["mechanism.epsilon"]
    )
    result = api.run(read_plan(path), out=tmp_path / "again")
    assert result.summary.exit_code == 0
    assert result.summary.risk.status == "within"


def test_the_same_question_gets_the_same_answer_and_another_one_is_refused(tuned):
    again = leakgauge.tune(laplace_plan(), limits={"accuracy": LIMIT}, out=tuned.folder)
    assert again.to_json() == tuned.to_json()
    with pytest.raises(BadInput, match=r"another search.*another --seed"):
        leakgauge.tune(laplace_plan(), limits={"accuracy": 0.61}, out=tuned.folder)


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="not empty"):
        leakgauge.tune(laplace_plan(), limits={"accuracy": LIMIT}, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_search_that_was_interrupted_can_be_started_again(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise IncompleteRun("the power went out")

    monkeypatch.setattr(api, "run", interrupted)
    for _ in range(2):  # the second time the folder is not taken for somebody else's
        with pytest.raises(IncompleteRun, match="power"):
            leakgauge.tune(laplace_plan(), limits={"accuracy": LIMIT}, out=tmp_path / "out")


def test_the_run_that_confirms_has_the_tuned_plan_in_its_folder(tuned):
    kept = tomllib.loads((tuned.folder / "confirmation-1" / "plan.toml").read_text())
    assert kept["audit"][0]["mechanism"]["epsilon"] == tuned.setting["mechanism.epsilon"]


def test_without_a_limit_the_line_to_write_is_given():
    with pytest.raises(BadInput, match=r"--limit accuracy=0.6.*\[limits\]"):
        leakgauge.tune(laplace_plan())


def test_where_nothing_is_below_the_limit_the_closest_setting_is_named(tmp_path):
    result = leakgauge.tune(laplace_plan(), limits={"accuracy": 0.5001}, out=tmp_path / "out")
    assert (result.exit_code, result.setting, result.plan) == (3, None, None)
    assert result.lines[0].startswith("No setting could be confirmed to stay under your limit")
    assert "Closest: epsilon = 0.001" in result.lines[1]
    assert not (tmp_path / "out" / "tuned-plan.toml").exists()


def test_the_end_of_the_range_is_said_to_be_one(tmp_path):
    limits = Limits(metrics={"accuracy": 0.99999})
    result = leakgauge.tune(laplace_plan(), limits=limits, out=tmp_path / "out")
    assert result.setting == {"mechanism.epsilon": 20.0}
    assert any("the end of the range that was tried" in line for line in result.lines)


# How often a wrong setting is confirmed, and how far below the largest safe one a right setting is: the same
# search and the same comparison with the limit, with trials of known truth in place of releases.


def trials_of(accuracy, rounds, rng):
    members = rng.random(rounds) < 0.5
    right = rng.random(rounds) < accuracy
    numbers = np.arange(rounds)
    scores = np.where(right == members, 1.0, -1.0)
    return Trials(numbers, np.zeros_like(numbers), members, scores, Coins.FAIR, Reading(threshold=0.0))


def truth(setting):
    """The accuracy of the best attack against one count with Laplace noise."""
    return 1 - exp(-setting["mechanism.epsilon"] / 2) / 2


class KnownRelease:
    """A release of known risk: the search and the run that confirms see independent trials of it."""

    def __init__(self, rng, rounds, truth=truth):
        self.rng, self.rounds, self.truth = rng, rounds, truth
        self.plan = plan_of({**laplace_plan(rounds), "limits": {"accuracy": LIMIT}})

    def assessor(self, confidence):
        return RiskAssessor(
            plan=self.plan,
            audit=self.plan.audits[0],
            confidence=confidence,
            engine=SimpleNamespace(workers=1),
        )

    def risk(self, setting, confidence):
        trials = trials_of(self.truth(setting), self.rounds, self.rng)
        assessor = self.assessor(confidence)
        return assessor._risk(trials, self.plan.audits[0].contenders[0], ChallengerDefaults())

    def assess(self, setting):
        from leakgauge.parameter_search.assessment import _simulated

        return _simulated(setting, [self.risk(setting, 1 - 0.05 / 3)], None)

    def run(self, plan, **_):
        """In the place of ``api.run``: the summary of new trials at the confidence of the audit."""
        (audit,) = plan.audits
        setting = {"mechanism.epsilon": audit.mechanism["epsilon"]}
        risk = self.risk(setting, audit.metrics.confidence)
        promise = SimpleNamespace(status="no promise")
        code = 0 if risk.status == "within" else 3
        return SimpleNamespace(
            summary=SimpleNamespace(risk=risk, promise=promise, exit_code=code, reasons=()), verdicts=()
        )


def tuned_epsilon(release, monkeypatch, tmp_path):
    """The epsilon that the search and the confirmation arrive at; nothing where none was confirmed."""
    monkeypatch.setattr(api, "run", release.run)
    prefer = usefulness((EPSILON,), None, catalog.get_domain("blackbox"))
    search = ParameterSearch((EPSILON,), release.assess, prefer, SIMULATED_EFFORT)
    ladder = tune_module._simulated_ladder(search, (EPSILON,), search.best())
    confirmed = tune_module._confirm(ladder, release.plan, tmp_path, 1)
    done = [one.setting["mechanism.epsilon"] for one in confirmed if one.confirmed]
    return done[0] if done else None


def confirmed_at_the_limit(n, rounds, n_settings, seed, monkeypatch, tmp_path):
    """How many of n tunings confirm one of several settings that are all exactly at the limit."""
    rng, count = np.random.default_rng(seed), 0
    release = KnownRelease(rng, rounds, truth=lambda _: LIMIT)
    monkeypatch.setattr(api, "run", release.run)
    at_limit = release.assess({"mechanism.epsilon": LARGEST})
    for _ in range(n):
        ladder = [
            replace(at_limit, setting={"mechanism.epsilon": LARGEST * 0.999**k}) for k in range(n_settings)
        ]
        confirmations = tune_module._confirm(ladder, release.plan, tmp_path, 1)
        count += any(one.confirmed for one in confirmations)
    return count


@pytest.mark.parametrize(
    ("n", "n_settings"),
    [
        (60, 1),
        (50, 3),
        pytest.param(2000, 1, marks=pytest.mark.nightly),
        pytest.param(2000, 3, marks=pytest.mark.nightly),
    ],
)
def test_settings_at_the_limit_are_confirmed_in_at_most_one_tuning_of_twenty(
    n, n_settings, monkeypatch, tmp_path
):
    count = confirmed_at_the_limit(n, 400, n_settings, 11, monkeypatch, tmp_path)
    assert count <= binom.ppf(0.999, n, 0.05)
    if n == 2000:
        one, three = re.search(r"in (\d+) of 2,000 .*? and in (\d+) of 2,000", page_words("tune.md")).groups()
        assert count == pytest.approx(int(one if n_settings == 1 else three), abs=2)  # other machines


@pytest.mark.parametrize("n", [8, pytest.param(300, marks=pytest.mark.nightly)])
def test_what_is_confirmed_after_a_search_is_safe_and_useful(n, monkeypatch, tmp_path):
    rng = np.random.default_rng(5)
    release = KnownRelease(rng, 4000)
    found = [tuned_epsilon(release, monkeypatch, tmp_path) for _ in range(n)]
    unsafe = sum(one is not None and one > LARGEST for one in found)
    assert unsafe <= binom.ppf(0.999, n, 0.05)
    useful = sum(one is not None and one >= 0.5 * LARGEST for one in found)
    assert useful >= 0.8 * n
    if n == 300:
        page = page_words("tune.md")
        told = re.search(r"was (\d+) % of .*? at least (\d+) % in eight of ten", page).groups()
        shares = np.array([one or 0 for one in found]) / LARGEST
        assert [int(one) / 100 for one in told] == pytest.approx(np.quantile(shares, [0.5, 0.2]), abs=0.01)
        assert "None of the 300 was above" in page
        assert unsafe == 0


def test_the_error_is_divided_by_the_settings_to_confirm(monkeypatch, tmp_path):
    release = KnownRelease(np.random.default_rng(1), 100, truth=lambda _: 0.9)
    monkeypatch.setattr(api, "run", release.run)
    ladder = [release.assess({"mechanism.epsilon": value}) for value in (0.3, 0.2, 0.1)]
    confirmations = tune_module._confirm(ladder, release.plan, tmp_path, 1)
    assert [one.level for one in confirmations] == pytest.approx([1 - 0.05 / 3] * 3)
    assert [one.confirmed for one in confirmations] == [False, False, False]


def test_simulated_releases_of_the_search_have_other_random_numbers(monkeypatch):
    seeds = []
    original = leakgauge.parameter_search.assessment.study_attacks

    def remember(prepared, seed, *rest):
        seeds.append(seed)
        return original(prepared, seed, *rest)

    monkeypatch.setattr("leakgauge.parameter_search.assessment.study_attacks", remember)
    plan = plan_of({**laplace_plan(100), "limits": {"accuracy": LIMIT}})
    from leakgauge.runner.engines import open_engine

    with open_engine("local", 1) as engine:
        assessor = RiskAssessor(plan=plan, audit=plan.audits[0], confidence=0.95, engine=engine)
        found = assessor.simulate({"mechanism.epsilon": 0.1})
    assert seeds == [search_seed(3)]
    assert found.basis == SIMULATED
    assert found.excess == pytest.approx(found.value + found.error - LIMIT)


class ComputedRisk:
    """Computed risks: of the attackers of the plan, and a larger one that holds for any attacker."""

    def __init__(self, bound_above, width):
        self.bound_above, self.width, self.simulated = bound_above, width, []
        self.plan = plan_of({**laplace_plan(), "limits": {"accuracy": LIMIT}})
        self.audit, self.limits = self.plan.audits[0], self.plan.limits

    def _known(self, setting, value, error=0.0, basis="computed"):
        excess = value + error - LIMIT
        return Assessment(
            setting=dict(setting),
            metric="accuracy",
            value=value,
            limit=LIMIT,
            excess=excess,
            rate_excess=excess,
            attacker="a",
            basis=basis,
            error=error,
        )

    def for_these_attackers(self, setting):
        return self._known(setting, truth(setting))

    def for_any_attacker(self, setting):
        return self._known(setting, min(1.0, truth(setting) + self.bound_above))

    def simulate(self, setting):
        self.simulated.append(setting)
        return self._known(setting, truth(setting), self.width, SIMULATED)


def test_settings_to_confirm_are_ever_safer_and_end_with_the_bound_for_any_attacker():
    risk = ComputedRisk(bound_above=0.05, width=0.01)
    found = tune_module._search(risk, (EPSILON,), coarsen=True, advance=lambda *_: None)
    ladder = [one.setting["mechanism.epsilon"] for one in found.searches.ladder]
    assert len(ladder) == 3
    assert LARGEST > ladder[0] > ladder[1] > ladder[2]
    # by half a width and by a width and a quarter below the limit, beyond the bound of the releases
    assert truth(found.searches.ladder[0].setting) == pytest.approx(LIMIT - 0.01 * 1.5, abs=1e-3)
    assert truth(found.searches.ladder[1].setting) == pytest.approx(LIMIT - 0.01 * 2.25, abs=1e-3)
    assert truth(found.searches.ladder[2].setting) == pytest.approx(LIMIT - 0.05, abs=1e-3)
    assert [one["mechanism.epsilon"] for one in risk.simulated] == pytest.approx([LARGEST], rel=0.01)


def test_with_few_releases_the_bound_for_any_attacker_is_all_that_can_be_confirmed():
    found = tune_module._search(
        ComputedRisk(bound_above=0.02, width=0.05), (EPSILON,), coarsen=True, advance=lambda *_: None
    )
    (only,) = found.searches.ladder
    assert truth(only.setting) == pytest.approx(LIMIT - 0.02, abs=1e-3)
    assert found.searches.largest.setting["mechanism.epsilon"] == pytest.approx(LARGEST, rel=0.01)


def visit_plan(folder, **challenger):
    """A plan about visits of 40 people in two weeks, with the noise of one visit."""
    rng = np.random.default_rng(4)
    times = np.datetime64("2024-05-06T00:00") + rng.integers(14 * 24 * 60, size=600).astype("timedelta64[m]")
    rows = [f"p{rng.integers(40)},{time},stop {rng.integers(6)}" for time in times.astype(str)]
    (folder / "visits.csv").write_text("user,time,place\n" + "\n".join(rows) + "\n")
    audit = {
        "name": "stops",
        "domain": "locations",
        "rounds": 200,
        "data": {"source": str(folder / "visits.csv"), "timezone": "UTC", "epoch": "6h"},
        "mechanism": {"name": "laplace", "epsilon": 1.0, "unit": "event"},
        "attacks": [{"name": "likelihood", "knowledge": "informed"}],
        "challenger": {"group_size": "everyone", "targets": {"n": 3, "min_visits": 5}, **challenger},
    }
    return {"seed": 3, "audit": [audit]}


def test_a_plan_in_another_folder_finds_the_files_of_the_first(tmp_path):
    table = visit_plan(tmp_path)
    table["audit"][0]["data"]["source"] = "visits.csv"
    plan = plan_of(table, folder=tmp_path)
    out = tmp_path / "runs" / "t-tune"
    out.mkdir(parents=True)
    (out / "tuned-plan.toml").write_text(to_toml(moved_plan(plan, out)))
    again = read_plan(out / "tuned-plan.toml")
    assert again.audits[0].data["source"] == "../../visits.csv"
    audit = again.audits[0]
    assert catalog.build_challenger(audit, again, audit.contenders).n_targets == 3


def test_a_plan_that_names_python_files_is_to_be_copied_beside_them(tmp_path):
    table = visit_plan(tmp_path)
    table["audit"][0]["attacks"] = [{"name": "mine:Guess", "knowledge": "informed"}]
    plan = plan_of(table, folder=tmp_path)
    assert moved_plan(plan, tmp_path / "out") is not None, "an installed module is found from anywhere"
    (tmp_path / "mine.py").write_text("")
    assert moved_plan(plan, tmp_path / "out") is None
    assert moved_plan(plan, tmp_path) == plan
    published = {"name": "a", "domain": "models", "data": {"source": "adult"}}
    assert moved_plan(plan_of({"audit": [published]}, folder=tmp_path), tmp_path / "out") is None
    published["data"]["folder"] = "."
    moved = moved_plan(plan_of({"audit": [published]}, folder=tmp_path), tmp_path / "out")
    assert moved.audits[0].data == {"source": "adult", "folder": ".."}


def test_the_unit_that_epsilon_protects_is_varied_and_scales_it(tmp_path):
    """Noise for at most 4 visits a day and 12 in all is the same at epsilon, 4 epsilon and 12 epsilon."""
    plan = visit_plan(tmp_path, per_day=4, per_user=12)
    keys = ["mechanism.epsilon", "mechanism.unit"]
    result = leakgauge.tune(plan, limits={"accuracy": 0.97}, vary=keys, out=tmp_path / "out")
    found = {one.setting["mechanism.unit"]: one.setting["mechanism.epsilon"] for one in result.alternatives}
    assert found["user-day"] == pytest.approx(4 * found["event"], rel=0.01)
    assert found["user"] == pytest.approx(12 * found["event"], rel=0.01)
    assert result.exit_code == 0
    assert result.untried == ()


def test_a_unit_that_needs_a_cap_is_said_not_to_be_tried(tmp_path):
    result = leakgauge.tune(
        visit_plan(tmp_path),
        limits={"accuracy": 0.97},
        vary=["mechanism.epsilon", "mechanism.unit"],
        out=tmp_path / "out",
    )
    assert result.setting["mechanism.unit"] == "event"
    assert [setting["mechanism.unit"] for setting, _ in result.untried] == ["user-day", "user"]
    (line,) = (line for line in result.lines if 'unit = "user",' in line)
    assert line.startswith("Not tried: ")
    assert "add challenger.per_user" in line


def grid_plan(folder, people=1500):
    """A plan about visits in four weeks near a few points, with a fine grid and short periods."""
    rng = np.random.default_rng(1)
    towns, often = rng.normal(size=(40, 2)) / 20, rng.dirichlet(np.full(40, 0.5))
    n = 6 * people
    points = [48, 11] + towns[rng.choice(40, n, p=often)] + 0.003 * rng.normal(size=(n, 2))
    times = np.datetime64("2024-05-06T00:00") + rng.integers(28 * 1440, size=n).astype("timedelta64[m]")
    rows = [f"p{u},{t},{a:.5f},{b:.5f}" for u, t, (a, b) in zip(rng.integers(people, size=n), times, points)]
    (folder / "visits.csv").write_text("user,time,lat,lon\n" + "\n".join(rows) + "\n")
    audit = {
        "name": "trips",
        "domain": "locations",
        "rounds": 60,
        "data": {"source": str(folder / "visits.csv"), "timezone": "UTC", "epoch": "6h", "grid": [8, 8]},
        "mechanism": {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": 3},
        "attacks": [{"name": "likelihood", "knowledge": "informed"}],
        "challenger": {"group_size": "everyone", "targets": {"n": 3, "min_visits": 3}},
    }
    return {"seed": 3, "audit": [audit]}


def off_by_too_much(utility):
    return utility["typical_error"] > utility["largest_useful_error"]


def test_a_coarser_table_is_searched_where_noise_alone_leaves_nothing_useful(tmp_path):
    result = leakgauge.tune(grid_plan(tmp_path), limits={"accuracy": 0.7}, out=tmp_path / "out")
    assert result.exit_code == 0
    assert set(result.useless.setting) == {"mechanism.epsilon"}
    assert off_by_too_much(result.useless.utility)
    assert not off_by_too_much(result.utility)
    assert {"mechanism.epsilon", "data.grid"} <= set(result.setting)
    assert dict(result.setting).items() >= result.coarser[-1].items() or len(result.coarser) > 1
    (line,) = (line for line in result.lines if line.startswith("A coarser table was searched for"))
    assert "typical error of a published count" in line


def test_no_plan_is_written_where_every_count_would_drown_in_noise(tmp_path):
    plan = grid_plan(tmp_path, people=60)
    plan["audit"][0]["mechanism"] = {"name": "laplace", "epsilon": 1.0}
    result = leakgauge.tune(plan, limits={"accuracy": 0.505}, out=tmp_path / "out")
    assert (result.exit_code, result.plan, result.confirmations) == (3, None, ())
    assert off_by_too_much(result.useless.utility)
    assert result.lines[0].startswith("No useful setting was found under your limit")
    assert "Nor is it with grid = [1, 1]" in result.lines[1]
    assert not (tmp_path / "out" / "tuned-plan.toml").exists()
    assert "No useful setting was found" in (tmp_path / "out" / "tune.html").read_text()


def test_keys_that_are_named_are_the_only_ones_that_are_varied(tmp_path):
    result = leakgauge.tune(
        grid_plan(tmp_path), limits={"accuracy": 0.7}, vary=["mechanism.epsilon"], out=tmp_path / "out"
    )
    assert (result.exit_code, result.coarser) == (3, ())
    assert not (tmp_path / "out" / "tuned-plan.toml").exists()


@pytest.mark.nightly
def test_longer_periods_are_varied(tmp_path):
    keys = ["mechanism.epsilon", "data.epoch"]
    result = leakgauge.tune(visit_plan(tmp_path), limits={"accuracy": 0.7}, vary=keys, out=tmp_path / "out")
    assert result.exit_code == 0
    epochs = {one.setting["data.epoch"] for one in result.alternatives}
    assert epochs == {"6h", "8h", "12h", "1d", "2d", "7d"}
    assert (
        tomllib.loads((tmp_path / "out" / "tuned-plan.toml").read_text())["audit"][0]["data"]["epoch"]
        in epochs
    )


@pytest.mark.nightly
def test_a_model_whose_members_depend_on_one_another_is_tuned_by_simulation(tmp_path):
    """No promise covers such members, so no optimum is known; a fresh run of the tuned plan stays below."""
    audit = {
        "name": "mixture",
        "domain": "models",
        "rounds": 200,
        "block": 20,
        "attacks": ["loss_threshold"],
        "data": {"source": "synthetic", "rows": 400, "features": 10},
        "mechanism": {"name": "dp_sgd", "epsilon": 4.0, "delta": 1e-3, "relation": "replace_one"},
        "challenger": {
            "game": "mixture",
            "dependence": {"name": "clusters"},
            "members": 20,
            "targets": 10,
            "epochs": 20,
            "batch": 20,
            "hidden": [32],
            "rate": 0.5,
        },
    }
    result = leakgauge.tune({"seed": 5, "audit": [audit]}, limits={"accuracy": 0.6}, out=tmp_path / "out")
    assert all(one.basis == SIMULATED for one in result.tried)
    assert result.exit_code == 0
    assert 0.05 < result.setting["mechanism.epsilon"] < 20
    assert "by the strongest attacker tried" in result.lines[1]
    fresh = leakgauge.run(replace(result.plan, seed=91), out=tmp_path / "fresh")
    assert fresh.summary.risk.value < 0.6


@pytest.mark.nightly
def test_clients_whose_nominal_epsilon_is_broken_are_not_confirmed(tmp_path):
    """BitRand has no optimum by a curve: it is simulated, within the limit, and breaks its own promise."""
    audit = {
        "name": "clients",
        "domain": "federated",
        "rounds": 200,
        "block": 50,
        "attacks": ["likelihood_neuron"],
        "data": {"source": "synthetic"},
        "mechanism": {"name": "bitrand", "epsilon": 3.0},
        "challenger": {"targets": 4, "batch": 16},
    }
    result = leakgauge.tune({"seed": 5, "audit": [audit]}, limits={"accuracy": 0.97}, out=tmp_path / "out")
    assert all(one.basis == SIMULATED for one in result.tried)
    assert result.exit_code == 3
    assert result.plan is None
    assert "Its run is within the limit, but: the promise is violated." in result.lines[1]
