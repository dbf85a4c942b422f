"""Figures 17 and 20: area under the ROC curve against the number of cells."""

from leakgauge.papers.comparison import Cell, Published, Says
from leakgauge.papers.liu24.accuracies import SMALLER, THRESHOLDS, networks_of, without_hundred
from leakgauge.papers.liu24.drawing import AUC, panel
from leakgauge.papers.liu24.games import KNOWLEDGES, LARGE, USUAL, Games
from leakgauge.papers.liu24.places import substitute_note
from leakgauge.papers.liu24.statements import catching_up, lead, played_by, player, winners
from leakgauge.papers.paper import Item, Played, Shown


def _figure_17(played: Played) -> Shown:
    large = LARGE["laplace"].games(played.verdicts)
    level = catching_up(AUC, large, "two_threshold", "learns the rule, appendix C")
    return _shown("figure-17", "laplace", played, "the same trends, appendix C", level)


def _figure_20(played: Played) -> Shown:
    large = LARGE["gaussian"].games(played.verdicts)
    level = catching_up(AUC, large, "one_threshold", "“easier to achieve the optimal”, appendix D")
    return _shown("figure-20", "gaussian", played, "“a clear advantage”, appendix D", level)


def _shown(name: str, noise: str, played: Played, where: str, level: list[Cell]) -> Shown:
    usual, large = (without_hundred(runs[noise].games(played.verdicts)) for runs in (USUAL, LARGE))
    cells = (
        *winners(AUC, noise, usual, where),
        *level,
        *_references(usual),
        *played_by(AUC, noise, usual),
        *played_by(AUC, noise, large, only_networks=True),
    )
    together = {**usual, **networks_of(large)}
    charts = tuple(panel(f"{name}-{who}", AUC, noise, who, together) for who in KNOWLEDGES)
    return Shown(cells, charts, (substitute_note(played.scope),))


def _references(found: Games) -> list[Cell]:
    """What the reference costs, beside the sum alone."""
    slight = Published(value=0.0, where="“a very slight disadvantage”, appendix C", says=Says.ABOVE)
    return [
        lead(AUC, found, player("one_threshold", who), player("reference", who), slight, why=_OVERLAP)
        for who in KNOWLEDGES
    ]


_OVERLAP = (
    "Where the reference shares no cell with the target, both attacks are the same; among so few visits "
    "that is nearly always so."
)
FIGURE_17 = Item(
    title="Figure 17: AUC under Laplace noise",
    about="The chance that a release with the target scores higher than one without it. Networks with "
    "2,000 and with 200,000 shadows are in one picture; the reference attack of Dwork et al. (2015) takes "
    "one other person's trace as what is usual.",
    shares=(*USUAL["laplace"].runs, *LARGE["laplace"].runs),
    show=_figure_17,
    notes=(THRESHOLDS, SMALLER),
)
FIGURE_20 = Item(
    title="Figure 20: AUC under Gaussian noise",
    about="The same with Gaussian noise (σ = 8.2543). No attack beats the sum of the cells.",
    shares=(*USUAL["gaussian"].runs, *LARGE["gaussian"].runs),
    show=_figure_20,
    notes=(THRESHOLDS, SMALLER),
)
