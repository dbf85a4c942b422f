from pathlib import Path

import pytest

import leakgauge.domains
from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.plan import Audit, Contender, MetricsTable, Plan, Stop
from leakgauge.referee.metric_evaluation import all_rate_metrics


@pytest.fixture(autouse=True)
def _coins(monkeypatch):
    domains = Path(__file__).parent / "runner" / "domains"
    monkeypatch.setattr(leakgauge.domains, "__path__", [*leakgauge.domains.__path__, str(domains)])


def plan_with(attack=None, knowledge=None, challenger=None, path=Path("plan.toml")):
    contenders = (
        Contender(
            attack="peek",
            knowledge="nothing",
            label="it",
            attack_parameters=attack or {},
            knowledge_parameters=knowledge or {},
        ),
        Contender(attack="sleep", knowledge="little", label="other"),
    )
    audit = Audit(
        name="a",
        domain="coin",
        rounds=1,
        block=1,
        stop=Stop.ROUNDS,
        data={},
        challenger=challenger or {},
        mechanism={"epsilon": 2},
        metrics=MetricsTable(),
        contenders=contenders,
    )
    return audit, Plan(seed=1, audits=(audit,), folder=Path(), path=path)


def test_public_files_are_found_by_name(tmp_path, monkeypatch):
    for name in ("beta", "alpha", "_shared"):
        (tmp_path / f"{name}.py").write_text(f'"""File {name}."""')
    monkeypatch.setattr(leakgauge.domains, "__path__", [str(tmp_path)])
    assert catalog.domain_names() == ["alpha", "beta"]


def test_game_is_built_from_plan():
    game = catalog.prepare_audit(
        *plan_with(attack={"noise": 1}, knowledge={"shift": 2}, challenger={"targets": 3})
    )
    assert game.challenger.n_targets == 3
    assert game.challenger.epsilon == 2.0
    assert game.attacks["it"].noise == 1.0
    assert game.knowledges["it"].shift == 2.0
    assert type(game.knowledges["other"]).__name__ == "Little"
    assert set(game.attacks) == {"it", "other"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attack": {"noize": 1}}, "attack 'peek': no key is called 'noize'; did you mean 'noise'?"),
        ({"attack": {"noise": "loud"}}, "attack 'peek'.noise: must be a number, got 'loud'"),
        ({"knowledge": {"shif": 1}}, "knowledge 'nothing': no key is called 'shif'; did you mean 'shift'?"),
        ({"challenger": {"target": 1}}, "challenger: no key is called 'target'; did you mean 'targets'?"),
    ],
)
def test_errors_name_file_and_audit(settings, message):
    with pytest.raises(BadInput) as caught:
        catalog.prepare_audit(*plan_with(**settings))
    assert str(caught.value) == f"plan.toml: audit 'a': {message}"
    with pytest.raises(BadInput) as caught:
        catalog.prepare_audit(*plan_with(**settings, path=None))
    assert str(caught.value) == f"audit 'a': {message}"


def test_unknown_name_suggests_the_nearest(monkeypatch):
    with pytest.raises(BadInput, match=r"^here: no attack is called 'pek'; did you mean 'peek'\?$"):
        catalog.build(catalog.attacks_package("coin"), "Attack", "pek", {}, "here")


def test_entries_have_one_line_descriptions():
    assert catalog.describe("attacks", "coin") == {"peek": "Believe the coin.", "sleep": "Say nothing."}
    assert catalog.describe("knowledge", "coin") == {
        "nothing": "Only what comes out.",
        "little": "Hardly more.",
    }
    assert catalog.describe("attacks")["coin: peek"] == "Believe the coin."
    assert (
        catalog.describe("domains")["coin"] == "A domain for tests: the release is a biased coin per target."
    )
    for what in ("mechanisms", "metrics"):
        found = catalog.describe(what)
        assert found
        assert all(about and "\n" not in about for about in found.values())
    with pytest.raises(BadInput, match=r"^no domain is called 'con'; did you mean 'coin'\?$"):
        catalog.describe("attacks", "con")


def test_rejects_unusable_knowledge_before_simulation():
    catalog.refuse_knowledge("blackbox", "likelihood", "law")
    catalog.refuse_knowledge("blackbox", "learned_event", "law")
    with pytest.raises(BadInput, match="likelihood cannot use knowledge 'simulator'; it needs 'law'"):
        catalog.refuse_knowledge("blackbox", "likelihood", "simulator")


def test_number_of_friends_is_reported_without_names():
    for shown in ({"friends": 5}, {"friends": "given"}, {"trace": 0.5}):
        assert catalog.redacted_knowledge("locations", shown) == shown
    assert catalog.redacted_knowledge("locations", {"friends": ["ann"]}) == {"friends": "(not shown)"}
    assert catalog.redacted_knowledge("blackbox", {"friends": ["ann"]}) == {"friends": ["ann"]}


def test_named_targets_are_hidden_in_reports():
    table = {"group_size": 10, "targets": {"names": ["ann"], "min_visits": 2}}
    shown = {"group_size": 10, "targets": {"names": "(not shown)", "min_visits": 2}}
    assert catalog.redacted_challenger("locations", table) == shown


DESIGNED = {  # the names that verdicts.json has had from the beginning
    *("auc", "auc_mean", "accuracy", "accuracy_mean", "advantage", "tpr", "tnr", "epsilon"),
    *("tpr_at_fpr_0.1", "tpr_at_fpr_0.01", "tpr_at_fpr_0.001"),
}


def test_metrics_have_distinct_titles_and_meanings():
    found = catalog.metric_descriptions()
    assert set(found) >= DESIGNED | set(all_rate_metrics())
    assert len({one.title for one in found.values()}) == len(found)
    for one in found.values():
        assert one.meaning
        assert not one.meaning.endswith(".")
        assert one.title_in_sentence in (one.title, one.title[0].lower() + one.title[1:], "ε")


def test_metrics_are_sorted_by_rank():
    found = catalog.metric_descriptions()
    assert next(iter(found)) == "epsilon"
    ranks = [one.rank for one in found.values()]
    assert ranks == sorted(ranks)
    means = {name: one.mean_of for name, one in found.items() if one.mean_of is not None}
    assert means == {f"{name}_mean": name for name in means.values()}
    assert all(found[name].is_share == found[mean].is_share for mean, name in means.items())


def test_metric_variants_have_distinct_texts():
    found = catalog.metric_descriptions()
    assert found["tpr_at_fpr_0.001"].title == "Members found, 0.1% wrongly accused"
    assert found["tpr_at_fpr_0.001"].meaning == "members recognised while accusing 1 non-member in 1,000"
    assert found["tpr_at_fpr_0.01_mean"].title == "Members found, 1% wrongly accused, mean of targets"
