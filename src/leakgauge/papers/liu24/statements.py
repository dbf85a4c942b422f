"""Statements of Liu et al. (2024) about attacks, compared with simulated games."""

from dataclasses import replace

import numpy as np

from leakgauge.papers.comparison import Claim, ComparedNumber, OurNumber, PublishedNumber, read_published
from leakgauge.papers.liu24 import plans
from leakgauge.papers.liu24.charts import MeasuredQuantity, variant_label
from leakgauge.papers.metric_intervals import difference
from leakgauge.report.number_format import count, times

PUBLISHED = read_published(__package__)
WINNERS = {"laplace": ("two_threshold", "one_threshold"), "gaussian": ("one_threshold", "two_threshold")}
DENSE = (
    "Depends on how full the cells are: votes do better below about two expected visitors (see the "
    "crossover)."
)

SPARSE = (
    "Others protect a target only where they are in the same cells, and in sparse data few are (see the "
    "crossover)."
)
FULL_CELLS = (
    "A network can weight the cells; where some are much busier than others, this makes up for few shadows."
)


def variant(
    attack: str,
    knowledge: str,
    n: int = plans.SIXTY_CELLS,
    shadows: int | None = None,
    hidden: int | None = None,
) -> plans.CellAttackVariant:
    """Return an attack variant, at sixty cells by default."""
    return plans.CellAttackVariant(attack=attack, knowledge=knowledge, n=n, shadows=shadows, hidden=hidden)


def lead_claim(
    quantity: MeasuredQuantity,
    games: plans.VerdictsByVariant,
    first: plans.CellAttackVariant,
    second: plans.CellAttackVariant,
    published: PublishedNumber,
    why: str = "",
) -> ComparedNumber:
    """The lead of one variant over another, compared with what the paper says about it."""
    return ComparedNumber(
        setting=f"{quantity.name}: {_difference_label(first, second)}",
        ours=lead_of(quantity, games, first, second),
        published=published,
        why=why,
    )


def lead_of(
    quantity: MeasuredQuantity,
    games: plans.VerdictsByVariant,
    first: plans.CellAttackVariant,
    second: plans.CellAttackVariant,
) -> OurNumber:
    """The lead of one variant over another."""
    return difference(quantity.of(games[first]), quantity.of(games[second]))


def winner_claims(
    quantity: MeasuredQuantity, noise: str, games: plans.VerdictsByVariant, where: str
) -> list[ComparedNumber]:
    """Which rule is the better one, from five cells on."""
    first, second = WINNERS[noise]
    return [
        lead_claim(
            quantity,
            games,
            variant(first, knowledge, n),
            variant(second, knowledge, n),
            PublishedNumber(value=0.0, where=where, claim=Claim.ABOVE),
            why=DENSE if knowledge == plans.AUXILIARY and noise == "laplace" else "",
        )
        for knowledge in plans.KNOWLEDGES
        for n in _numbers(games)
        if n >= 5
    ]


def growth_claims(
    quantity: MeasuredQuantity, games: plans.VerdictsByVariant, where: str
) -> list[ComparedNumber]:
    """That every attack gains with the number of cells."""
    numbers = [n for n in _numbers(games) if n >= 5]
    few, many = numbers[0], numbers[-1]
    return [
        ComparedNumber(
            setting=f"{quantity.name}: {_who(p)}, {many} cells minus {few}",
            ours=lead_of(quantity, games, replace(p, n=many), p),
            published=PublishedNumber(value=0.0, where=where, claim=Claim.ABOVE),
        )
        for p in games
        if p.n == few and p.attack in ("one_threshold", "two_threshold", plans.NETWORK)
    ]


def knowledge_claims(quantity: MeasuredQuantity, games: plans.VerdictsByVariant) -> list[ComparedNumber]:
    """That informed attackers do much better than auxiliary ones."""
    return [
        lead_claim(
            quantity,
            games,
            variant(attack, plans.INFORMED, shadows=shadows),
            variant(attack, plans.AUXILIARY, shadows=shadows),
            PUBLISHED["figure_13_knowledge"],
            why=SPARSE,
        )
        for attack, shadows in (
            ("one_threshold", None),
            ("two_threshold", None),
            (plans.NETWORK, plans.FEW_SHADOWS),
        )
    ]


def network_lag_claims(quantity: MeasuredQuantity, games: plans.VerdictsByVariant) -> list[ComparedNumber]:
    """That a network trained on few shadows does worse than both rules: than the sum by 1 % to 2 %."""
    leads = (
        ("one_threshold", PUBLISHED["figure_13_sum_over_network"], FULL_CELLS),
        ("two_threshold", PUBLISHED["figure_13_votes_over_network"], DENSE),
    )
    return [
        lead_claim(
            quantity,
            games,
            variant(rule, knowledge),
            variant(plans.NETWORK, knowledge, shadows=plans.FEW_SHADOWS),
            published,
            why=why if knowledge == plans.AUXILIARY else "",
        )
        for rule, published, why in leads
        for knowledge in plans.KNOWLEDGES
    ]


def more_shadows_claims(
    quantity: MeasuredQuantity, games: plans.VerdictsByVariant, where: str
) -> list[ComparedNumber]:
    """The gain of a network from more shadows."""
    return [
        lead_claim(
            quantity,
            games,
            p,
            variant(plans.NETWORK, p.knowledge, p.n, plans.FEW_SHADOWS, p.hidden),
            PublishedNumber(value=0.0, where=where, claim=Claim.ABOVE),
        )
        for p in networks_with_many_shadows(games)
    ]


def network_level_claims(
    quantity: MeasuredQuantity, games: plans.VerdictsByVariant, rule: str, where: str
) -> list[ComparedNumber]:
    """That a network trained on many shadows is as good as a rule, within 0.01."""
    level = PublishedNumber(value=0.0, places=2, where=where)
    return [
        lead_claim(
            quantity, games, p, other, level, why=_why_not_level(lead_of(quantity, games, p, other), rule)
        )
        for p in networks_with_many_shadows(games)
        for other in (variant(rule, p.knowledge, p.n),)
    ]


def _why_not_level(lead: OurNumber, rule: str) -> str:
    if lead.low > 0 and rule == "two_threshold":
        return "The network does better than the votes: it comes close to the likelihood attack."
    return "The network has not quite learned the rule." if lead.high < 0 else ""


def networks_with_many_shadows(games: plans.VerdictsByVariant) -> list[plans.CellAttackVariant]:
    """The networks trained on more than few shadows."""
    return [p for p in games if p.attack == plans.NETWORK and (p.shadows or 0) > plans.FEW_SHADOWS]


def played_numbers(
    quantity: MeasuredQuantity, noise: str, games: plans.VerdictsByVariant, *, only_networks: bool = False
) -> list[ComparedNumber]:
    """The result of every attack; of informed ones with the exact value, where there is one."""
    return [
        ComparedNumber(
            setting=f"{quantity.name}: {_who(p)}, {times(p.n, 'cell')}, simulated",
            ours=quantity.of(verdicts),
            exact=float(quantity.exact(noise, p.attack, np.array([float(p.n)]))[0])
            if p.knowledge == plans.INFORMED and p.attack in quantity.exact_for
            else None,
            drawn=p.attack != "likelihood",
        )
        for p, verdicts in games.items()
        if not only_networks or p.attack == plans.NETWORK
    ]


def _numbers(games: plans.VerdictsByVariant) -> list[int]:
    return sorted({p.n for p in games})


def _who(p: plans.CellAttackVariant) -> str:
    return f"{variant_label(p)}, {p.knowledge}"


def _difference_label(first: plans.CellAttackVariant, second: plans.CellAttackVariant) -> str:
    """Name two variants by what they differ in."""
    if first.knowledge != second.knowledge:
        return f"{variant_label(first)}, {first.knowledge} minus {second.knowledge}, {times(first.n, 'cell')}"
    rules_apart = first.attack != second.attack or first.attack == plans.NETWORK
    names = [
        variant_label(p) if rules_apart else f"{variant_label(p)}, {count(p.shadows or 0)} shadows"
        for p in (first, second)
    ]
    return f"{names[0]} minus {names[1]}, {first.knowledge}, {times(first.n, 'cell')}"
