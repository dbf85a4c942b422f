"""The positive control of a service, against the rounds of our own server without a network between."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from leakgauge.core.errors import BadInput, IncompleteRun
from leakgauge.core.game import NoControl
from leakgauge.domains.queries.challenger import build
from leakgauge.domains.queries.oracle import cache_key
from leakgauge.domains.queries.query import Query, QueryKind
from leakgauge.domains.queries.remote.control_oracle import ControlOracle, ControlQuestions, QuestionPair
from leakgauge.domains.queries.remote.plan_tables import AskRequest, ControlKind, QueriesServiceTable
from leakgauge.domains.queries.remote.remote_oracle import ServedAnswer
from leakgauge.domains.queries.service.rounds import service_rounds
from positive_control_play import played


class DirectAdapter:
    """Passes requests to the rounds of a server in this process; ``change`` may change each answer."""

    def __init__(self, challenger, change=lambda answer: answer, **settings):
        kind = {name: ControlKind(settings.pop(name)) for name in list(settings) if name == "control"}
        self.service = QueriesServiceTable(url="http://127.0.0.1:1", **settings, **kind)
        self.rounds, self.change = service_rounds(challenger), change
        self.sent, self.absent, self.questions, self.n_opened = 0, [], [], 0

    def take(self):
        if self.sent >= self.service.total:
            raise IncompleteRun("too many requests")
        self.sent += 1

    def open(self, tables):
        opened = []
        for values in tables:
            self.take()
            self.absent.append(values["absent"])
            opened.append({**values, "round": self.rounds.open(tuple(values["absent"]))})
        self.n_opened += len(opened)
        return opened

    def ask(self, rounds, question):
        given = np.array([self.ask_one(values, question) for values in rounds], dtype=float)
        return [ServedAnswer(answer) for answer in given.tolist()]

    def ask_one(self, values, question):
        self.take()
        self.questions.append(question)
        query = Query(
            kind=QueryKind(question["kind"]),
            column=question["column"],
            bound=question["bound"],
            where=question["predicate"],
            ids=None if question["ids"] is None else tuple(question["ids"]),
        )
        return self.change(self.rounds.ask(values["round"], query, None).answer)

    def finish(self, rounds):
        pass

    def end(self):
        """Closing a round takes a request too."""
        for _ in range(self.n_opened):
            self.take()
        self.n_opened = 0

    abandon = end


def remote(folder, *, change=lambda answer: answer, service=None, mechanism=None, **challenger):
    local = build(
        data={"records": challenger.pop("records", 200)},
        challenger=challenger,
        mechanism=mechanism or {"name": "laplace", "epsilon": 0.25},
        folder=folder,
        seed=1,
    )
    return replace(local, adapter=DirectAdapter(local, change, **(service or {})))


SUM = {"kind": "sum", "column": "age", "bound": 60.0}


BOTH = pytest.mark.parametrize("kind", ["absent", "questions"])


@BOTH
@pytest.mark.parametrize(
    ("attack", "parameters"),
    [
        ("split_likelihood", {"queries": 2}),
        ("split_likelihood", {"queries": 2, "by": "predicate"}),
        ("split_midpoint", {"queries": 1}),
        ("split_t_test", {"queries": 4}),
        ("repeat", {"queries": 2, "wording": "equivalent"}),
        ("combined", {"queries": 3}),
        ("reconstruction", {"queries": 3}),
        ("reconstruction", {"queries": 3, "method": "linear_program"}),
    ],
)
def test_attack_recognises_target_through_service(attack, parameters, kind, tmp_path):
    control = remote(tmp_path, targets=3, service={"control": kind}).control()
    assert played("queries", control, attack, **parameters)["status"] == "passed"


@BOTH
@pytest.mark.parametrize("knowledge", ["known", "attributes"])
@pytest.mark.parametrize(("attack", "n"), [("split_likelihood", 2), ("refusal", 2), ("combined", 2)])
def test_small_counts_are_not_answered(attack, n, knowledge, kind, tmp_path):
    """Where records are left out with the target, a question must stay as large as it is."""
    control = remote(tmp_path, records=400, at_least=10, service={"control": kind}).control()
    assert played("queries", control, attack, knowledge, queries=n)["status"] == "passed"


@pytest.mark.parametrize("name", ["laplace", "geometric", "gaussian"])
@pytest.mark.parametrize("query", [{}, SUM])
@BOTH
def test_every_noise_and_query(name, query, kind, tmp_path):
    noise = {"name": name, "epsilon": 0.5} | ({"delta": 1e-5} if name == "gaussian" else {})
    control = remote(tmp_path, mechanism=noise, query=query, records=400, service={"control": kind}).control()
    assert played("queries", control, "split_likelihood", queries=2)["status"] == "passed"


@BOTH
def test_refusals_tell_members_only_where_the_accountant_is_unsound(kind, tmp_path):
    accounts = {"budget": 1.0, "cache": "canonical", "service": {"control": kind}}
    for accountant, status in {
        "per_row": "passed",
        "per_predicate": "failed",
        "sequential": "failed",
    }.items():
        control = remote(tmp_path, accountant=accountant, **accounts).control()
        assert played("queries", control, "refusal", queries=6)["status"] == status


@pytest.mark.parametrize("change", [lambda answer: 100.0, lambda answer: -answer, lambda answer: answer / 50])
@BOTH
def test_wrong_answers_fail_it(change, kind, tmp_path):
    control = remote(tmp_path, change=change, service={"control": kind}).control()
    assert played("queries", control, "split_likelihood", queries=2)["status"] == "failed"


def test_more_noise_than_stated_fails_it(tmp_path):
    """The two worlds are 20 stated scales apart: noise of 40 times the scale hides that."""
    rng = np.random.default_rng(1)
    control = remote(tmp_path, change=lambda answer: answer + rng.laplace(0.0, 40 * 4.0)).control()
    assert played("queries", control, "split_likelihood", queries=1)["status"] == "failed"


def test_service_that_answers_nothing_is_refused(tmp_path):
    control = remote(tmp_path, change=lambda answer: None).control()
    with pytest.raises(BadInput, match="it gave no number for the first question in any of 100"):
        played("queries", control, "split_likelihood", queries=2)


def test_service_that_ignores_who_is_absent_fails(tmp_path):
    """Only where records are left out: questions that differ show nothing about that, and a note says so."""
    for kind, status in {"absent": "failed", "questions": "passed"}.items():
        challenger = remote(tmp_path, service={"control": kind})
        rounds, open_round = challenger.adapter.rounds, challenger.adapter.rounds.open
        rounds.open = lambda absent, open_round=open_round: open_round(())
        assert played("queries", challenger.control(), "split_likelihood", queries=2)["status"] == status


def test_service_that_refuses_large_questions_is_refused(tmp_path):
    challenger = remote(tmp_path, service={"control": "questions"})
    adapter, ask = challenger.adapter, challenger.adapter.ask_one
    adapter.ask_one = lambda values, asked: None if len(asked["ids"]) > 20 else ask(values, asked)
    with pytest.raises(BadInput, match=r"records more, by which .* service.control = .none."):
        played("queries", challenger.control(), "split_likelihood", queries=2)


def test_without_control(tmp_path):
    none = remote(tmp_path, service={"control": "none"}).control()
    assert none == NoControl(reason='the plan sets service.control = "none"')


def test_small_table_has_no_control(tmp_path):
    none = remote(tmp_path, records=30).control()
    assert isinstance(none, NoControl)
    assert "change an answer by 7.2 noise scales only, where 10 are needed" in none.reason


@BOTH
def test_true_answers_differ_by_twenty_scales_and_questions_stay_different(kind, tmp_path):
    challenger = remote(tmp_path, targets=3, service={"control": kind})
    questions = challenger.control().control_questions
    target = challenger.table.records.ids[challenger.table.targets[0]]
    others = [name for name in challenger.table.records.ids if name != target][:40]
    seen = set()
    for number, other in enumerate(others):
        query = Query(ids=(target, other))
        pair = questions.pair(query, number)
        truth = {}
        for present, asked in pair.queries.items():
            records = set(range(len(challenger.table.records)))
            absent = {
                row for row, here in zip(questions.rounds.targets, questions.members(present)) if not here
            }
            here = {challenger.table.records.ids[row] for row in records - absent}
            truth[present] = len(here & set(asked.ids))
        assert truth[False] == pair.bases[False]
        assert 79 <= truth[True] - truth[False] <= 81  # 20 scales of 4, and at most one record more or less
        assert pair.ratio == 1 / (truth[True] - truth[False])
        seen.add(cache_key(challenger.rules.cache, questions.rounds.ask(pair.queries[True])))
    assert len(seen) == len(others)


@BOTH
def test_of_the_targets_only_the_first_is_ever_absent(kind, tmp_path):
    challenger = remote(tmp_path, targets=3, service={"control": kind})
    played("queries", challenger.control(), "split_likelihood", queries=2)
    first, *others = (challenger.table.records.ids[row] for row in challenger.table.targets.tolist())
    absent = {name for absent in challenger.adapter.absent for name in absent}
    assert first in absent
    assert len(absent) == (1 if kind == "questions" else 1 + 80)
    assert not absent & set(others)
    assert not set(others) & {name for asked in challenger.adapter.questions for name in asked["ids"][2:]}


def test_sums_use_records_of_the_sign_of_the_target():
    """Ten records, five of them negative: those that move an answer as the target does, largest first."""
    from domains.queries.small_table import records
    from leakgauge.domains.queries.oracle import OracleRules
    from leakgauge.domains.queries.records import OracleTable
    from leakgauge.mechanisms import laplace

    income = np.array([-50.0, 10.0, -20.0, 30.0, -40.0, 5.0, -60.0, 7.0, -8.0, 9.0])
    table = OracleTable(records(income=income), np.array([0]))
    query = Query(kind=QueryKind.SUM, column="income", bound=100.0)
    rules = OracleRules(noise=laplace.Mechanism(scale=5.0, sensitivity=100.0))
    questions = ControlQuestions(table, table, query, rules)
    pair = questions.pair(query.on((0, 1)), 0)
    assert pair.queries[False].ids == (0, 1)
    assert pair.queries[True].ids == (0, 1, 6)  # -50 - 60 is more than 20 scales of 5
    assert pair.ratio == pytest.approx(-50 / -110)


@pytest.mark.parametrize("kind", [ControlKind.ABSENT, ControlKind.QUESTIONS])
@pytest.mark.parametrize("most", [5, 5_000])
@pytest.mark.parametrize("scale", [20.0, 60.0, 200.0])
def test_every_question_reaches_the_stated_scales(kind, most, scale, monkeypatch):
    """Very unequal contributions: whichever record a question begins with or omits, by its true answers."""
    from domains.queries.small_table import records
    from leakgauge.domains.queries.oracle import OracleRules
    from leakgauge.domains.queries.records import OracleTable
    from leakgauge.domains.queries.remote import control_oracle
    from leakgauge.mechanisms import laplace

    monkeypatch.setattr(control_oracle, "MOST_ADDED", most)
    income = np.array([5.0, 300.0, 900.0, 200.0, 10.0, 120.0, 80.0, 40.0, 30.0, 20.0])
    table = OracleTable(records(income=income), np.array([0]))
    query = Query(kind=QueryKind.SUM, column="income", bound=5_000.0)
    rules = OracleRules(noise=laplace.Mechanism(scale=scale, sensitivity=5_000.0))
    questions = ControlQuestions(table, table, query, rules, kind)
    reached = []
    for number in range(25):
        pair = questions.pair(query.on((0,)), number)
        with_target, without = (
            sum(
                income[row]
                for row in pair.queries[present].ids
                if questions.members(present)[questions.rounds.targets == row].all()
            )
            for present in (True, False)
        )
        reached.append((with_target - without) / scale)
        assert pair.scales == pytest.approx(reached[-1])
        assert pair.ratio == pytest.approx(5.0 / (with_target - without))
    others = np.sort(income[1:])[::-1][:most]
    omitted = others[0] if kind is ControlKind.ABSENT else 0.0  # the largest, at worst
    assert questions.scales == pytest.approx(min(20.0, (5.0 + others.sum() - omitted) / scale))
    assert min(reached) >= questions.scales - 1e-9
    assert min(reached) == pytest.approx(questions.scales) or questions.scales == 20.0


def test_honest_small_service_is_not_failed_at_a_high_limit(tmp_path):
    """42 records are 10 noise scales: an error in 100 rounds is likely, and shows nothing."""
    from leakgauge import catalog
    from leakgauge.plan import Contender
    from leakgauge.runner.engines import InProcessEngine
    from leakgauge.runner.positive_control import judge_control, play_control

    who = Contender(attack="split_midpoint", knowledge="known", label="it", attack_parameters={"queries": 1})
    small = {"records": 42, "service": {"control": "questions"}}
    control, rng = remote(tmp_path, **small).control(), np.random.default_rng(1)
    exact = remote(tmp_path, mechanism={"name": "laplace", "epsilon": 1e6}, **small)
    control.adapter.rounds = exact.adapter.rounds  # with noise that is the same whenever this runs
    control.adapter.change = lambda answer: answer + rng.laplace(0.0, 4.0)
    found = []
    for seed in range(15):
        prepare = lambda label: catalog.prepare_contenders("queries", control, [who], 1)  # noqa: E731
        trials = play_control(control, prepare, ["it"], seed, InProcessEngine())["it"]
        assert 0 < trials.utility["noise_error"].max() < 0.01
        found.append(judge_control(trials, 0.95)["status"])
    assert set(found) == {"passed", "not possible"}


@pytest.mark.parametrize("extra", [0, -1])
def test_total_is_never_exceeded(extra, tmp_path):
    needed = 100 * (2 + 2)  # two questions, opened and closed
    challenger = remote(tmp_path, service={"total": needed + extra})
    found = played("queries", challenger.control(), "split_likelihood", queries=2)
    if extra == 0:
        assert (found["status"], challenger.adapter.sent) == ("passed", needed)
    else:
        assert (found["status"], challenger.adapter.sent) == ("not possible", 0)
        assert "the service's total leaves 399 questions, and its 100 rounds need 400" in found["reason"]


def test_rehearsal_counts_what_is_sent(tmp_path):
    """Refused questions count too, and so does opening and closing."""
    from leakgauge import catalog
    from leakgauge.plan import Contender
    from leakgauge.runner.engines import InProcessEngine
    from leakgauge.runner.play_block import study_attacks
    from leakgauge.runner.positive_control import requests_per_round

    challenger = remote(tmp_path, budget=0.5)
    who = Contender(
        attack="split_likelihood", knowledge="known", label="it", attack_parameters={"queries": 7}
    )
    studied = study_attacks(catalog.prepare_contenders("queries", challenger, [who], 1), 1, InProcessEngine())
    assert requests_per_round(challenger, studied.adversaries["it"], 1) == 7 + 2
    assert challenger.adapter.sent == 0
    challenger.adapter.service = replace(challenger.adapter.service, close=None)
    assert requests_per_round(challenger, studied.adversaries["it"], 1) == 7 + 1


def test_service_that_cannot_be_told_who_is_absent_has_no_such_control():
    world = {"url": "http://127.0.0.1:1/{world}", "ask": AskRequest(path="/ask", json={"sql": "{sql}"})}
    assert QueriesServiceTable(**world).control is ControlKind.QUESTIONS
    with pytest.raises(BadInput, match="must be told which records to leave out"):
        QueriesServiceTable(**world, control=ControlKind.ABSENT)


@pytest.mark.parametrize(("scales", "error"), [([12.0, 1.0], np.exp(-6.0)), ([12.0, 11.0], np.exp(-5.5))])
def test_a_weak_question_excuses_no_attack(scales, error):
    """Noise hides the target in a question of one scale; the other questions show it."""
    same = {False: 0.0, True: 0.0}
    pairs = [QuestionPair({False: n, True: n}, 1, same, 1.0, apart) for n, apart in enumerate(scales)]
    questions = SimpleNamespace(
        pair=lambda _, number: pairs[number],
        table=SimpleNamespace(ask=lambda _: SimpleNamespace(total=0.0)),
        rules=SimpleNamespace(whole=False),
    )
    halves = {world: SimpleNamespace(ask=lambda _: np.ones(1)) for world in (False, True)}
    oracle = ControlOracle(questions, np.array([False, True]), halves)
    for query in ("first", "second"):
        oracle.ask(query)
    assert oracle.noise_error == pytest.approx(error)
