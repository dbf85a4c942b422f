"""Every domain declares what it is made of, and its challengers have every hook."""

import re
from dataclasses import fields
from pathlib import Path
from runpy import run_path

import pytest

from leakgauge import catalog
from leakgauge.core.domain import Domain, Term
from leakgauge.core.game import Challenger, ChallengerDefaults, NoControl

GAMES = Path(__file__).parent / "domains"
HOOKS = [name for name in vars(Challenger) if not name.startswith("_")]


@pytest.fixture(params=catalog.domain_names())
def domain(request):
    return catalog.get_domain(request.param)


def places(value):
    """Every text of the form ``module:name`` in a declaration."""
    if isinstance(value, str):
        return [value] if re.fullmatch(r"[a-z_.]+:[A-Za-z_]+", value) else []
    if isinstance(value, dict):
        return [place for item in value.values() for place in places(item)]
    if isinstance(value, Term | tuple):
        return []
    return places(vars(value)) if hasattr(value, "__dataclass_fields__") else []


def test_declared_functions_exist(domain):
    declared = [place for field in fields(Domain) for place in places(getattr(domain, field.name))]
    assert {"challenger:build", "knowledge:build"} <= set(declared)
    assert all(callable(domain.load(place)) for place in declared)


def test_default_attacks_exist_and_accept_their_knowledge(domain):
    for entry in domain.default_attacks:
        table = {"name": entry} if isinstance(entry, str) else entry
        accepts = catalog.accepted_knowledge(domain.name, table["name"])
        assert table.get("knowledge", accepts[0]) in accepts


def test_terms_have_titles_and_meanings(domain):
    shown = [domain.knowledge_terms, domain.studied, domain.utility, domain.spending]
    for term in (term for terms in shown for term in terms.values()):
        assert term.title
        assert term.meaning
        assert not term.meaning.endswith(".")
    for terms in shown:
        assert len({term.title for term in terms.values()}) == len(terms)


def test_declared_names_are_consistent(domain):
    assert set(domain.controls) <= set(domain.knowledge_terms)
    assert set(domain.main_utility) <= set(domain.utility)
    assert set(domain.spending_check or ()) <= set(domain.spending)
    assert all(line or name in catalog.describe("mechanisms") for name, line in mechanisms(domain).items())


def test_what_a_plan_selects_by_name_is_described(domain):
    for what in domain.plan_choices:
        lines = catalog.describe(what, domain.name)
        assert lines
        assert all(lines.values())


def test_some_domains_have_more_to_select():
    choices = {domain.name: set(domain.plan_choices) for domain in catalog.all_domains()}
    assert "trainers" in choices["models"]
    assert "accountants" in choices["queries"]


def mechanisms(domain):
    return domain.mechanism_lines() or {}


def test_challenger_has_every_hook(domain, tmp_path):
    attack = catalog.module_names(domain.attacks_package)[0]
    tables = run_path(str(GAMES / domain.name / "conformance_game.py"))["tables"](1.0, tmp_path, attack)
    challenger = domain.build_challenger(
        data=tables.get("data", {}),
        challenger=tables["challenger"],
        mechanism=tables["mechanism"],
        folder=tmp_path,
        seed=1,
    )
    assert isinstance(challenger, ChallengerDefaults)
    assert not [name for name in HOOKS if not hasattr(challenger, name)]
    assert challenger.rehearsal() is challenger
    assert challenger.request_limits is None
    challenger.abandon()
    control = challenger.control()
    assert isinstance(control, NoControl) or type(control) is type(challenger)


def test_targets_digest_does_not_depend_on_protection(domain, tmp_path):
    attack = catalog.module_names(domain.attacks_package)[0]
    tables = run_path(str(GAMES / domain.name / "conformance_game.py"))["tables"]

    def digest(noise):
        given = tables(noise, tmp_path, attack)
        return domain.build_challenger(
            data=given.get("data", {}),
            challenger=given["challenger"],
            mechanism=given["mechanism"],
            folder=tmp_path,
            seed=1,
        ).targets_digest

    assert digest(1.0) == digest(2.0)


def test_all_hooks_but_the_game_are_optional():
    needed = {"n_targets", "coins", "guarantee", "digest", "flip", "release"}
    assert set(HOOKS) - {name for name in vars(ChallengerDefaults) if not name.startswith("_")} == needed


def test_texts_for_attacks_and_knowledge_come_from_the_domain():
    assert catalog.attack_term("locations", "one_threshold").title
    assert catalog.knowledge_term("locations", "informed").title == "attacker who knows everyone else's data"
    assert catalog.attack_term("scores", "unknown") == Term(title="unknown")
    assert catalog.knowledge_term("scores", "unknown") == Term(title="unknown")


def test_noisy_gradients_are_attacked_as_a_whole_by_default():
    """A single neuron is right 57 % of the time where the whole gradient is right 90 %."""
    federated = catalog.get_domain("federated")
    assert federated.attacks_by_default({"gradient_noise": {}}) == ({"name": "full_gradient"},)
    assert federated.attacks_by_default({}) == federated.default_attacks
