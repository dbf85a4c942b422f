"""Figures 1, 13, 14, 17, 19 and 20: accuracy and AUC against the number of cells."""

import numpy as np

from leakgauge.papers import comparison, paper
from leakgauge.papers.liu24 import exact_values, plans, statements
from leakgauge.papers.liu24.charts import ACCURACY, AUC, cells_chart
from leakgauge.papers.metric_intervals import difference

ACCURACY_SECTION = "section 5.3.1"
FEWER_SHADOWS_NOTE = (
    "At --scale quick networks are trained on many shadows only at a few numbers of cells, for one target, "
    "and under Gaussian noise on 20,000; --scale full simulates all of them, with ten targets."
)
THRESHOLDS_NOTE = (
    "one_threshold and two_threshold take their thresholds from the noise distribution and the rates of the "
    "attacker's people, so they need no shadows; reference uses 2,000."
)
FEW_CELLS = "With so few cells no attack can reach much, and all are close."
_OVERLAP = (
    "Where the reference shares no cell with the target, both attacks are the same; with this few visits "
    "that is nearly always the case."
)


def _figure_1(played: paper.PlayedItem) -> paper.ItemResult:
    games = plans.USUAL["laplace"].games(played.verdicts)
    networks = {p: verdicts for p, verdicts in games.items() if p.hidden == plans.HUNDRED}
    chart = cells_chart("figure-1", ACCURACY, "laplace", plans.INFORMED, networks, bound=True)
    return paper.ItemResult(tuple(_gaps(networks)), (chart,), (plans.substitute_note(played.scope),))


def _gaps(networks: plans.VerdictsByVariant) -> list[comparison.ComparedNumber]:
    """The gap between a network and the best possible attack."""
    cells = []
    for p, verdicts in networks.items():
        reached, n = ACCURACY.of(verdicts), np.array([float(p.n)])
        limits = {
            "bound for any mechanism": float(exact_values.any_mechanism("laplace", n)[0]),
            "optimum against this noise": float(exact_values.accuracy("laplace", "likelihood", n)[0]),
        }
        gap = statements.PUBLISHED["figure_1_gap"]
        for (limit, most), claim in zip(limits.items(), (gap, None), strict=True):
            cells.append(
                comparison.ComparedNumber(
                    setting=f"{limit} minus network of {plans.HUNDRED} units, {p.n} cells",
                    ours=difference(comparison.exact_number(most), reached),
                    published=claim,
                    why=FEW_CELLS if claim is not None and p.n < 5 else "",
                )
            )
    return cells


def _figure_13(played: paper.PlayedItem) -> paper.ItemResult:
    games = without_hundred(plans.USUAL["laplace"].games(played.verdicts))
    cells = (
        *statements.growth_claims(ACCURACY, games, ACCURACY_SECTION),
        *statements.knowledge_claims(ACCURACY, games),
        *statements.winner_claims(ACCURACY, "laplace", games, f"“a great advantage”, {ACCURACY_SECTION}"),
        *statements.network_lag_claims(ACCURACY, games),
        *statements.played_numbers(ACCURACY, "laplace", games),
    )
    charts = tuple(
        cells_chart(f"figure-13-{who}", ACCURACY, "laplace", who, games) for who in plans.KNOWLEDGES
    )
    return paper.ItemResult(cells, charts, (plans.place_note(played.scope),))


def _figure_14(played: paper.PlayedItem) -> paper.ItemResult:
    games = plans.LARGE["laplace"].games(played.verdicts)
    cells = (
        *statements.more_shadows_claims(ACCURACY, games, "“boosts”, section 5.3.2"),
        *statements.network_level_claims(ACCURACY, games, "two_threshold", "“the same level”, section 5.3.2"),
        *statements.played_numbers(ACCURACY, "laplace", games),
    )
    charts = tuple(
        cells_chart(f"figure-14-{who}", ACCURACY, "laplace", who, games) for who in plans.KNOWLEDGES
    )
    return paper.ItemResult(cells, charts, (plans.substitute_note(played.scope),))


def _figure_19(played: paper.PlayedItem) -> paper.ItemResult:
    games = plans.USUAL["gaussian"].games(played.verdicts)
    large = plans.LARGE["gaussian"].games(played.verdicts)
    cells = (
        *statements.winner_claims(ACCURACY, "gaussian", games, "“a clear advantage”, appendix D"),
        *statements.network_level_claims(
            ACCURACY, large, "one_threshold", "“easier to achieve the optimal”, appendix D"
        ),
        *statements.played_numbers(ACCURACY, "gaussian", games),
        *statements.played_numbers(ACCURACY, "gaussian", large, only_networks=True),
    )
    charts = tuple(
        cells_chart(f"figure-19-{who}", ACCURACY, "gaussian", who, {**games, **networks_of(large)})
        for who in plans.KNOWLEDGES
    )
    return paper.ItemResult(cells, charts, (plans.substitute_note(played.scope),))


def without_hundred(games: plans.VerdictsByVariant) -> plans.VerdictsByVariant:
    """All attacks except the networks of figure 1."""
    return {p: verdicts for p, verdicts in games.items() if p.hidden is None}


def networks_of(large: plans.VerdictsByVariant) -> plans.VerdictsByVariant:
    """The networks trained on more shadows than those of the usual games."""
    most = max(p.shadows or 0 for p in large)
    return {p: verdicts for p, verdicts in large.items() if p.shadows == most}


FIGURE_1 = paper.PaperItem(
    title="Figure 1: the success that theory allows, and that of a network of earlier work",
    about="An informed attacker trains the network of earlier work, one hidden layer of 100 units, on 2,000 "
    "of its own shadows. The paper compares its accuracy with the most that any mechanism with the same "
    "promise could reveal in this number of cells (Kairouz, Oh and Viswanath 2015). We add the best attack "
    "on the noise in use, and the two simple rules.",
    shared_runs=plans.USUAL["laplace"].runs,
    show=_figure_1,
    notes=(
        (
            "A part of the gap is due to the bound: other mechanisms with the same promise reveal more than "
            "Laplace noise. At 60 cells the bound is 0.9725, and the best attack on Laplace noise reaches "
            "0.9639."
        ),
        "The paper does not say on how many shadows this network was trained; we use 2,000.",
    ),
)
FIGURE_13 = paper.PaperItem(
    title="Figure 13: accuracy under Laplace noise, networks with 2,000 shadows",
    about="In every round a new group of 1,999 people is drawn, and the target is added or not; each count "
    "gets Laplace noise of ε = 0.5. The informed attacker knows everybody but the target, the auxiliary "
    "one has the traces of other people. Networks have as many hidden units as there are cells. The "
    "likelihood attack and the optimum are ours.",
    shared_runs=plans.USUAL["laplace"].runs,
    show=_figure_13,
    notes=(
        THRESHOLDS_NOTE,
        (
            "Neither rule is the best attack: for both attackers the likelihood attack is ahead of them, "
            "and needs no shadows."
        ),
    ),
)
FIGURE_14 = paper.PaperItem(
    title="Figure 14: accuracy under Laplace noise, networks with 200,000 shadows",
    about="The same game; networks are trained on a hundred times as many shadows.",
    shared_runs=plans.LARGE["laplace"].runs,
    show=_figure_14,
    notes=(FEWER_SHADOWS_NOTE,),
)
FIGURE_19 = paper.PaperItem(
    title="Figure 19: accuracy under Gaussian noise",
    about="The same game with Gaussian noise, ε = 0.5 and δ = 1/3998 per cell in the classic calibration (σ "
    "= 8.2543), networks with few and many shadows in one chart. No attack beats the sum of the cells here.",
    shared_runs=(*plans.USUAL["gaussian"].runs, *plans.LARGE["gaussian"].runs),
    show=_figure_19,
    notes=(THRESHOLDS_NOTE, FEWER_SHADOWS_NOTE),
)


def _figure_17(played: paper.PlayedItem) -> paper.ItemResult:
    large = plans.LARGE["laplace"].games(played.verdicts)
    level = statements.network_level_claims(AUC, large, "two_threshold", "learns the rule, appendix C")
    return _auc_figure("figure-17", "laplace", played, "the same trends, appendix C", level)


def _figure_20(played: paper.PlayedItem) -> paper.ItemResult:
    large = plans.LARGE["gaussian"].games(played.verdicts)
    level = statements.network_level_claims(
        AUC, large, "one_threshold", "“easier to achieve the optimal”, appendix D"
    )
    return _auc_figure("figure-20", "gaussian", played, "“a clear advantage”, appendix D", level)


def _auc_figure(
    name: str, noise: str, played: paper.PlayedItem, where: str, level: list[comparison.ComparedNumber]
) -> paper.ItemResult:
    usual, large = (
        without_hundred(runs[noise].games(played.verdicts)) for runs in (plans.USUAL, plans.LARGE)
    )
    cells = (
        *statements.winner_claims(AUC, noise, usual, where),
        *level,
        *_references(usual),
        *statements.played_numbers(AUC, noise, usual),
        *statements.played_numbers(AUC, noise, large, only_networks=True),
    )
    together = {**usual, **networks_of(large)}
    charts = tuple(cells_chart(f"{name}-{who}", AUC, noise, who, together) for who in plans.KNOWLEDGES)
    return paper.ItemResult(cells, charts, (plans.substitute_note(played.scope),))


def _references(games: plans.VerdictsByVariant) -> list[comparison.ComparedNumber]:
    """The accuracy that the reference costs, compared with the sum alone."""
    slight = comparison.PublishedNumber(
        value=0.0, where="“a very slight disadvantage”, appendix C", claim=comparison.Claim.ABOVE
    )
    return [
        statements.lead_claim(
            AUC,
            games,
            statements.variant("one_threshold", who),
            statements.variant("reference", who),
            slight,
            why=_OVERLAP,
        )
        for who in plans.KNOWLEDGES
    ]


FIGURE_17 = paper.PaperItem(
    title="Figure 17: AUC under Laplace noise",
    about="The chance that a release with the target scores higher than one without it. Networks with 2,000 "
    "and with 200,000 shadows are in one chart; the reference attack of Dwork et al. (2015) uses one other "
    "person's trace as the reference.",
    shared_runs=(*plans.USUAL["laplace"].runs, *plans.LARGE["laplace"].runs),
    show=_figure_17,
    notes=(THRESHOLDS_NOTE, FEWER_SHADOWS_NOTE),
)
FIGURE_20 = paper.PaperItem(
    title="Figure 20: AUC under Gaussian noise",
    about="The same with Gaussian noise (σ = 8.2543). No attack beats the sum of the cells.",
    shared_runs=(*plans.USUAL["gaussian"].runs, *plans.LARGE["gaussian"].runs),
    show=_figure_20,
    notes=(THRESHOLDS_NOTE, FEWER_SHADOWS_NOTE),
)
