"""Table 1: how many epochs it takes to train the neuron of the paper, without local noise."""

from collections.abc import Mapping
from itertools import pairwise

from leakgauge.papers import measured
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.nguyen23.columns import COLUMNS, Column, data_note
from leakgauge.papers.nguyen23.setting import LIKELIHOOD
from leakgauge.papers.nguyen23.statements import judged
from leakgauge.papers.nguyen23.without_noise import FORM, NEURONS, RUN, audit_name
from leakgauge.papers.paper import Item, Played, Scope, Shown
from leakgauge.verdict import Verdict

PUBLISHED = {
    "CelebA": (3_585, 763, 497, 297),
    "ImageNet": (1_610, 131, 88, 63),
    "CIFAR-10": (309, 91, 54, 44),
}
OTHER_ROWS = (
    "Other rows, classes weighted in another way, and an end that is judged on the adversary's own rows: "
    "only the trend can be compared."
)


def _table_1(played: Played) -> Shown:
    found = {(verdict.audit, verdict.label): verdict for verdict in played.verdicts}
    cells = []
    for column in COLUMNS:
        mine = {
            r: found[audit_name(column), f"r-{r}"] for r in NEURONS if (audit_name(column), f"r-{r}") in found
        }
        cells += [*_epochs(played.scope, column, mine), *_trends(played.scope, column, mine)]
        if built := found.get((audit_name(column), LIKELIHOOD)):
            cells.append(
                Cell(
                    setting=f"success, likelihood neuron, no epoch: {column.words(played.scope, FORM)}",
                    ours=measured.accuracy(built),
                )
            )
    return Shown(tuple(cells), (), (data_note(played.scope),))


def _of(verdict: Verdict, name: str) -> float:
    return (verdict.studied or {})[name]


def _epochs(scope: Scope, column: Column, mine: Mapping[int, Verdict]) -> list[Cell]:
    cells = []
    for r, printed in zip(NEURONS, PUBLISHED[column.stands_for], strict=True):
        if r not in mine:
            continue
        share = _of(mine[r], "separated")
        ended = "" if share == 1 else f" By then {1 - share:.0%} of targets were not yet told from all rows."
        cells += [
            Cell(
                setting=f"epochs, r = {r}: {column.words(scope, FORM)}",
                ours=exactly(_of(mine[r], "epochs_mean")),
                published=Published(value=float(printed), places=0, where="table 1"),
                comparable=False,
                why=f"{OTHER_ROWS}{ended}",
            ),
            judged(
                f"success, r = {r}: {column.words(scope, FORM)}",
                measured.accuracy(mine[r]),
                Published(value=1.0, places=2, where="“100 %”, table 1"),
                f"A client's row that is like the target, and was not trained on, wakes the neuron.{ended}",
            ),
        ]
    return cells


def _trends(scope: Scope, column: Column, mine: Mapping[int, Verdict]) -> list[Cell]:
    """That more neurons take fewer epochs."""
    stated = Published(value=0.0, where="“increasing r helps”, appendix D", says=Says.ABOVE)
    return [
        judged(
            f"epochs, r = {few} less r = {many}: {column.words(scope, FORM)}",
            exactly(_of(mine[few], "epochs_mean") - _of(mine[many], "epochs_mean")),
            stated,
            "A few epochs up or down, for few targets: chance.",
        )
        for few, many in pairwise(NEURONS)
        if few in mine and many in mine
    ]


TABLE_1 = Item(
    title="Table 1: epochs until the neuron is trained, without local noise",
    about="A network with r units tells one target from all rows that the adversary has; training ends at "
    "the first epoch that does. Then games are played, without noise on rows.",
    shares=(RUN,),
    show=_table_1,
    notes=(
        (
            "At --scale quick training ends after 1,000 epochs at the latest, for four targets and at most "
            "1,000 rows of the adversary."
        ),
    ),
)
