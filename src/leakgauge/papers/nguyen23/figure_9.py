"""Figure 9: success after each epoch of training, without local noise."""

import numpy as np

from leakgauge.core.settings import read
from leakgauge.domains.federated.attacks.trained_neuron import Attack
from leakgauge.domains.federated.teaching import Teacher, Trained
from leakgauge.pages.charts import paint
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers.comparison import Published, exactly
from leakgauge.papers.nguyen23.columns import COLUMNS, Column, data_note
from leakgauge.papers.nguyen23.servers import Staged, stage
from leakgauge.papers.nguyen23.statements import judged
from leakgauge.papers.nguyen23.without_noise import FORM, NEURONS, RUN, audit_name
from leakgauge.papers.paper import Item, Played, Scope, Shown
from leakgauge.papers.traces import line, trace_chart

HELD_BACK = (
    "Counted on rows that were held back, with the bias as training left it; the paper counts on the rows "
    "that it chose the epoch by. With the bias put midway between the target and the next row, as the "
    "server does here, it wins the games of table 1."
)


def _figure_9(played: Played) -> Shown:
    scope, cells, charts = played.scope, [], []
    for column in COLUMNS:
        trained = _train(stage(played.plans.values(), audit_name(column)))
        last = trained.history[-1]
        cells.append(
            judged(
                f"success at the last epoch, {trained.epochs}: {column.words(scope, FORM)}",
                exactly(last.won),
                Published(value=1.0, places=2, where="“reaches 100 %”, appendix D"),
                HELD_BACK,
            )
        )
        charts.append(_chart(scope, column, trained))
    return Shown(tuple(cells), tuple(charts), (data_note(scope),))


def _train(staged: Staged) -> Trained:
    """The neuron of the first target, once more, for what its epochs show."""
    said = {
        key: value
        for key, value in staged.attacks[f"r-{NEURONS[-1]}"].items()
        if key not in ("name", "label")
    }
    rng = staged.rng()
    teacher = Teacher.of(staged.server, read(Attack, said, "trained_neuron").course(noisy=False), rng)
    return teacher((0, int(rng.integers(2**63))))


def _chart(scope: Scope, column: Column, trained: Trained) -> Chart:
    epochs = np.arange(1.0, len(trained.history) + 1)
    rows = (
        ("success", [one.won for one in trained.history], Stroke.LINE, paint.SERIES[0]),
        ("TPR", [one.tpr for one in trained.history], Stroke.DASHED, paint.SERIES[1]),
        ("TNR", [one.tnr for one in trained.history], Stroke.DOTTED, paint.SERIES[2]),
    )
    return trace_chart(
        f"figure-9-{column.name}",
        [line(label, epochs, np.array(values), stroke, colour) for label, values, stroke, colour in rows],
        x_title="epoch",
        y_title="share of games",
        caption=f"{column.words(scope, FORM)}, r = {NEURONS[-1]}, batches of {column.batch}: the neuron as "
        "it was after each epoch, on rows that were held back.",
        alternative=f"After {trained.epochs} epochs success is {trained.history[-1].won:.3f}.",
    )


FIGURE_9 = Item(
    title="Figure 9: success during training, without local noise",
    about="The neuron of one target with r = 2,000 units in the first layer, after each epoch of training.",
    shares=(RUN,),
    show=_figure_9,
)
