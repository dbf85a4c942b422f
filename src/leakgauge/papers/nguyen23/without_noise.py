"""The games of table 1 and figure 9: clients without local noise, and first layers of several sizes."""

from leakgauge.papers.nguyen23.columns import CIFAR_10, COLUMNS, GENERATED, Column, Form
from leakgauge.papers.nguyen23.setting import likelihood, write_audit
from leakgauge.papers.paper import Run, Scale, Scope

NEURONS = (5, 500, 1_000, 2_000)  # r
LIMIT = {Scale.QUICK: 1_000, Scale.FULL: 20_000}  # epochs
TARGETS = {Scale.QUICK: 4, Scale.FULL: 25}
ENOUGH = 1_000  # rows of the adversary at --scale quick, where there are more
FORM = Form.NON_NEGATIVE  # as the paper's
HELD_BACK = (
    "Counted on rows that were held back, with the bias as training left it; the paper counts on the rows "
    "that it chose the epoch by. With the bias put midway between the target and the next row, as the "
    "server does here, it wins the games of table 1."
)


def _plan(scope: Scope) -> str:
    limit = LIMIT[scope.scale]
    attacks = [f'name = "trained_neuron", neurons = {r}, epochs = {limit}, label = "r-{r}"' for r in NEURONS]
    return "".join(
        write_audit(
            audit_name(column),
            scope,
            column,
            FORM,
            'name = "none"',
            [*attacks, likelihood(column, FORM)],
            challenger=_reference(scope, column),
            targets=TARGETS[scope.scale],
        )
        for column in COLUMNS
    )


RUN = Run(name="without_noise", plan=_plan)


def audit_name(column: Column) -> str:
    """Of the audit of a column."""
    return f"without-noise-{column.name}"


def _reference(scope: Scope, column: Column) -> str:
    many = column is CIFAR_10 or column.data(scope, FORM) is GENERATED[FORM]
    return f"reference = {ENOUGH}" if many and scope.scale is Scale.QUICK else ""
