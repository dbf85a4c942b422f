"""Every metric and every attack that the catalog finds obeys the rules of its role."""

import pickle
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from known_trials import laplace, nothing
from leakgauge import catalog
from leakgauge.core.game import Adversary, Coins, play
from leakgauge.core.randomness import Role, stream
from leakgauge.plan import Audit, Contender, MetricsTable, Plan, Stop
from leakgauge.referee.metric_evaluation import rate_metrics
from leakgauge.referee.metrics import auc
from remembered_releases import RememberedReleases

METRICS = "leakgauge.referee.metrics"
NEEDS = {"epsilon_gdp": {"assume": "gaussian", "delta": 1e-5}}


@pytest.fixture(params=catalog.module_names(METRICS))
def metric(request):
    return catalog.build(METRICS, "Metric", request.param, NEEDS.get(request.param, {}))


def rng(*key):
    return np.random.default_rng([7, *key])


def test_metric_is_frozen_and_has_docstring(metric):
    assert is_dataclass(metric)
    assert "confidence" in {field.name for field in fields(metric)}
    assert type(metric).__doc__
    assert pickle.loads(pickle.dumps(metric)) == metric


def test_metric_is_deterministic_and_leaves_trials_unchanged(metric):
    rows = laplace(1.0, 400, rng(1))
    for column in (rows.rounds, rows.targets, rows.members, rows.scores):
        column.setflags(write=False)
    assert metric(rows) == metric(rows)


def test_metric_does_not_depend_on_order_of_rows(metric):
    rows = laplace(1.0, 400, rng(2))
    mixed = rng(3).permutation(len(rows))
    shuffled = type(rows)(
        rows.rounds[mixed],
        rows.targets[mixed],
        rows.members[mixed],
        rows.scores[mixed],
        rows.coins,
        rows.reading,
    )
    one, other = metric(rows), metric(shuffled)
    assert one.value == other.value
    assert one.low == pytest.approx(other.low, abs=0.03)  # a broken tie may fall the other way in TPR at FPR
    assert one.method == other.method


def seen(metric, rows):
    """What a metric shows for sure; where it is about releases of many records, of twenty such ones."""
    found = metric(rows)
    if found.value is found.low is None:
        found = metric(replace(rows, rounds=rows.rounds // 100, coins=Coins.GIVEN))
    return found.value if found.low is None else found.low


def test_metric_grows_with_the_leak(metric):
    strong = seen(metric, laplace(4.0, 2_000, rng(4)))
    assert strong > seen(metric, nothing(2_000, rng(5), laplace(1, 2, rng(6)).reading))


def test_epsilon_bound_is_one_sided_and_plans_from_counts(metric):
    if type(metric).__module__.rpartition(".")[2].startswith("epsilon_"):
        assert metric(laplace(1.0, 400, rng(7))).high is None
        assert metric.from_counts(500, 0, 0, 500) > metric.from_counts(400, 100, 100, 400) > 0
        assert metric.from_counts(250, 250, 250, 250) == 0
        assert metric.from_counts(0, 0, 0, 0) == 0


def test_every_rate_metric_is_evaluated_by_default():
    everything = rate_metrics(["in_sample"]).values()  # that one only where a plan asks for it
    modules = {type(make(confidence=0.9)).__module__.rpartition(".")[2] for make in everything}
    assert modules == {name for name in catalog.module_names(METRICS) if not name.startswith("epsilon_")}


# -- attacks: each domain has a game in tests/domains/<domain>/conformance_game.py -------------------------

GAMES = Path(__file__).parent / "domains"
NAKED, BLIND = 1e-3, 1e6  # noise that hides nothing, and noise that hides everything


def conformance_game(domain):
    """The names that a domain's game defines: ``tables``, and perhaps what is asked of its attacks."""
    return run_path(str(GAMES / domain / "conformance_game.py"))


def attacks_by_domain():
    """All attacks; those whose game starts a process of its own run every night."""
    for domain in catalog.domain_names():
        at_night = conformance_game(domain).get("AT_NIGHT", ())
        for attack in catalog.module_names(catalog.attacks_package(domain)):
            marks = [pytest.mark.nightly] if attack in at_night else []
            yield pytest.param((domain, attack), id=f"{domain}-{attack}", marks=marks)


CONTENDERS = list(attacks_by_domain())
# Shadow models take long to train; positive controls play the same releases with every change.
OTHERS_THAN_MODELS = [
    pytest.param(*one.values, id=one.id, marks=pytest.mark.nightly) if one.values[0][0] == "models" else one
    for one in CONTENDERS
]


@pytest.fixture(params=CONTENDERS)
def contender(request):
    domain, attack = request.param
    return domain, Contender(
        attack=attack, knowledge=catalog.accepted_knowledge(domain, attack)[0], label="it"
    )


def game(contender, noise, tmp_path):
    domain, who = contender
    tables = conformance_game(domain)["tables"](noise, tmp_path, who.attack)
    audit = Audit(
        name="a",
        domain=domain,
        rounds=100,
        block=100,
        stop=Stop.ROUNDS,
        data=tables.get("data", {}),
        challenger=tables["challenger"],
        mechanism=tables["mechanism"],
        metrics=MetricsTable(),
        contenders=(who,),
    )
    return catalog.prepare_audit(audit, Plan(seed=1, audits=(audit,), folder=tmp_path))


def trials(contender, noise, tmp_path, rounds=300, block=3, again=False):
    """Trials of one attack; ``again`` makes releases even if those of another attack could be used."""
    set_up = game(contender, noise, tmp_path)
    knowledge, attack = set_up.knowledges["it"], set_up.attacks["it"]
    adversary = Adversary(knowledge, attack.study(knowledge, stream(1, Role.STUDY)))
    shared = conformance_game(contender[0]).get("SHARED_RELEASES", False) and not again
    challenger = RememberedReleases(set_up.challenger) if shared else set_up.challenger
    return play(challenger, {"it": adversary}, 1, range(rounds), block)["it"]


def test_block_is_reproducible(contender, tmp_path):
    first, again = (trials(contender, 1.0, tmp_path, rounds=60, again=True) for _ in range(2))
    np.testing.assert_array_equal(first.scores, again.scores)


@pytest.mark.parametrize("contender", OTHERS_THAN_MODELS, indirect=True)
def test_members_score_higher_without_protection(contender, tmp_path):
    found = trials(contender, NAKED, tmp_path)
    if not conformance_game(contender[0]).get("SEPARATES_ALL", True):
        assert auc.Metric(confidence=0.999)(found).low > 0.5
        return
    assert found.scores[found.members].min() > found.scores[~found.members].max()


def test_uninformative_release_gives_no_advantage(contender, tmp_path):
    rounds = conformance_game(contender[0]).get("BLIND_ROUNDS", 1_000)
    answer = auc.Metric(confidence=0.9999)(trials(contender, BLIND, tmp_path, rounds=rounds))
    assert answer.low <= 0.5 <= answer.high


def test_attack_can_be_pickled_and_has_docstring(contender, tmp_path):
    attack = game(contender, 1.0, tmp_path).attacks["it"]
    assert set(attack.accepts) <= set(catalog.get_domain(contender[0]).knowledge_terms)
    assert pickle.loads(pickle.dumps(attack)) == attack
    assert type(attack).__doc__
