"""Figure 9: what the threshold on the sum of sixty cells decides."""

import numpy as np

from leakgauge.core.game import Reals
from leakgauge.pages.charts import RocCurve, paint, roc_chart
from leakgauge.pages.page import Chart, Stroke
from leakgauge.papers.comparison import Cell, Published, Says, exactly
from leakgauge.papers.liu24 import informed
from leakgauge.papers.liu24.setting import COLOURS, SIXTY
from leakgauge.papers.paper import Item, Played, Shown
from leakgauge.papers.traces import line, trace_chart
from leakgauge.theory.votes import number_of_votes


def _figure_9(_: Played) -> Shown:
    thresholds = np.arange(-70.0, 130.01, 0.5)
    tpr, fpr = (informed.sum_above(SIXTY, thresholds, member=member) for member in (True, False))
    accuracy = (1 + tpr - fpr) / 2
    best = float(thresholds[np.argmax(accuracy)])
    middle = int(np.flatnonzero(thresholds == SIXTY / 2)[0])
    cells = (
        Cell(
            setting="threshold of the highest accuracy",
            ours=exactly(best),
            published=Published(value=SIXTY / 2, where="“the intersection point”, section 3.2"),
        ),
        Cell(
            setting="FPR at a threshold of 35 less FPR at 30",
            ours=exactly(float(fpr[middle + 10] - fpr[middle])),
            published=Published(value=0.0, where="“a larger T … a larger FPR”, section 3.2", says=Says.ABOVE),
            why="It is the other way round: fewer releases lie above a larger threshold.",
        ),
        Cell(
            setting="accuracy at the best threshold",
            ours=exactly(float(accuracy.max())),
            exact=float(informed.accuracy("laplace", "one_threshold", np.array([float(SIXTY)]))[0]),
            drawn=True,
        ),
    )
    chart = trace_chart(
        "figure-9-accuracy",
        [
            line("accuracy", thresholds, accuracy, Stroke.LINE, COLOURS["one_threshold"]),
            line("TPR", thresholds, tpr, Stroke.DASHED, paint.SERIES[1]),
            line("FPR", thresholds, fpr, Stroke.DOTTED, paint.SERIES[3]),
        ],
        x_title="threshold on the sum",
        y_title="rate",
        caption=f"one_threshold, informed adversary, {SIXTY} cells: what the threshold decides.",
        alternative=f"Accuracy is highest at {best:g}, midway between both worlds; both rates fall as the "
        "threshold rises.",
    )
    return Shown(cells, (chart, _roc(fpr[::-1], tpr[::-1])))


def _roc(fpr: Reals, tpr: Reals) -> Chart:
    optimum = informed.optimum("laplace", SIXTY).high
    error = informed.cell_error("laplace")
    votes = [np.cumsum(number_of_votes([chance] * SIXTY)[::-1]) for chance in (error, 1 - error)]
    return roc_chart(
        "figure-9-roc",
        [
            RocCurve("one_threshold", [0.0, *fpr.tolist(), 1.0], [0.0, *tpr.tolist(), 1.0]),
            RocCurve("two_threshold", [0.0, *votes[0].tolist()], [0.0, *votes[1].tolist()]),
        ],
        [RocCurve("optimum", optimum.fpr.tolist(), optimum.tpr.tolist())],
        log=False,
        caption=f"The same as a ROC curve: informed adversary, {SIXTY} cells, exact.",
        alternative="two_threshold lies above one_threshold, the optimum just above both.",
    )


FIGURE_9 = Item(
    title="Figure 9: what the threshold decides",
    about="The one-threshold attack of an informed adversary on sixty cells: accuracy, hits and false "
    "alarms at every threshold, and the ROC curve they trace. All exact; two_threshold and the optimum "
    "are added.",
    show=_figure_9,
)
