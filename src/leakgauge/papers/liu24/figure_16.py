"""Figure 16: networks with weights set by hand, and how sharp they must be (theorems 4 and 5)."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.classifiers.mlp import SigmoidNetwork, sum_network, vote_network
from leakgauge.papers import comparison, paper
from leakgauge.papers.liu24 import exact_values
from leakgauge.papers.liu24.plans import SCALE, SIXTY_CELLS
from leakgauge.papers.series_chart import line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke

N_ROWS = 40_000
SEED = 20240501
SHARPNESS = np.geomspace(0.01, 300.0, 28)  # a: of the units
SURENESS = (1.0, 4.0, 16.0)  # b: of the answer
WANTED = SIXTY_CELLS / 2  # the sum, or the votes, midway


@lru_cache(maxsize=1)
def _rows() -> tuple[Reals, Bits]:
    """Cells beyond the known counts, with the target in every other row."""
    rng = stream(SEED, Role.RELEASE)
    members = np.arange(N_ROWS) % 2 == 1
    return members[:, None] + rng.laplace(scale=SCALE, size=(N_ROWS, SIXTY_CELLS)), members


def rule_loss(network: SigmoidNetwork, rule_answers: Bits) -> float:
    """Mean log loss of a network relative to the rule it represents."""
    logits = network(_rows()[0])
    return float(np.logaddexp(0.0, np.where(rule_answers, -logits, logits)).mean())


def network_accuracy(chances: Reals) -> comparison.OurNumber:
    """How often a network that answers "member" from one half on is right; 99.9 % interval (normal)."""
    value = float(np.mean((chances >= 0.5) == _rows()[1]))
    wide = 3.29 * np.sqrt(value * (1 - value) / N_ROWS)
    return comparison.OurNumber(value=value, low=max(value - wide, 0.0), high=min(value + wide, 1.0))


def sum_rule_network(a: float, b: float) -> SigmoidNetwork:
    """The network of theorem 4, corrected."""
    return sum_network(SIXTY_CELLS, WANTED, a=a, b=b)


def vote_rule_network(a: float, b: float) -> SigmoidNetwork:
    """The network of theorem 5, corrected."""
    return vote_network(np.full(SIXTY_CELLS, 0.5), WANTED, a=a, b=b)


def sum_as_printed(rows: npt.ArrayLike, a: float, b: float) -> Reals:
    """Equation 12: no sigmoid inside, and the threshold is added."""
    inside = a * np.asarray(rows).sum(axis=1) + a * WANTED
    return np.asarray(expit(b * inside - b / 2))


def votes_as_printed(rows: npt.ArrayLike, a: float, b: float) -> Reals:
    """Equation 14: the bias b n / 2 is added, once for each of the n units."""
    units = expit(a * (np.asarray(rows) - 0.5))
    return np.asarray(expit(b * units.sum(axis=1) + SIXTY_CELLS * b * SIXTY_CELLS / 2))


def _figure_16(_: paper.PlayedItem) -> paper.ItemResult:
    return paper.ItemResult((*_losses(), *_printed(), *_accuracies()), (_loss_chart(), _accuracy_chart()))


def _losses() -> list[comparison.ComparedNumber]:
    rows, _ = _rows()
    rule_answers = rows.sum(axis=1) >= WANTED
    smaller = comparison.PublishedNumber(
        value=0.0, where="“a smaller loss”, appendix B", claim=comparison.Claim.ABOVE
    )
    return [
        comparison.ComparedNumber(
            setting="theorem 4: loss at a = 0.1 minus loss at a = 10, b = 16",
            ours=comparison.exact_number(
                rule_loss(sum_rule_network(0.1, 16.0), rule_answers)
                - rule_loss(sum_rule_network(10.0, 16.0), rule_answers)
            ),
            published=smaller,
        ),
        comparison.ComparedNumber(
            setting="theorem 4: loss at b = 1 minus loss at b = 16, a = 10",
            ours=comparison.exact_number(
                rule_loss(sum_rule_network(10.0, 1.0), rule_answers)
                - rule_loss(sum_rule_network(10.0, 16.0), rule_answers)
            ),
            published=smaller,
        ),
    ]


def _printed() -> list[comparison.ComparedNumber]:
    """The theorems as printed, compared with the rules they represent."""
    rows, members = _rows()
    whys = {
        "theorem 4": "Printed without the inner sigmoid, and with +aT where -aT is right.",
        "theorem 5": "The printed bias +bn/2 has the wrong sign, and is inside the sum over units.",
    }
    pairs = {
        "theorem 4": (sum_rule_network(10.0, 16.0).chance(rows), sum_as_printed(rows, 10.0, 16.0)),
        "theorem 5": (vote_rule_network(10.0, 16.0).chance(rows), votes_as_printed(rows, 10.0, 16.0)),
    }
    return [
        comparison.ComparedNumber(
            setting=f"{name}: accuracy at a = 10, b = 16",
            ours=network_accuracy(right),
            published=comparison.PublishedNumber(
                value=float(np.mean((printed >= 0.5) == members)), where="formula as printed"
            ),
            why=whys[name],
        )
        for name, (right, printed) in pairs.items()
    ]


def _accuracies() -> list[comparison.ComparedNumber]:
    """The corrected networks equal the rules, if they are sharp."""
    rows, _ = _rows()
    number = np.array([float(SIXTY_CELLS)])
    return [
        comparison.ComparedNumber(
            setting=f"{name}: accuracy at a = {a:g}, b = 16",
            ours=network_accuracy(network(a, 16.0).chance(rows)),
            exact=float(exact_values.accuracy("laplace", rule, number)[0]) if sharp else None,
        )
        for name, network, rule in (
            ("theorem 4", sum_rule_network, "one_threshold"),
            ("theorem 5", vote_rule_network, "two_threshold"),
        )
        for a, sharp in ((0.1, name == "theorem 4"), (6.0, name == "theorem 4"), (300.0, True))
    ]


def _loss_chart() -> Chart:
    rows, _ = _rows()
    rule_answers = rows.sum(axis=1) >= WANTED
    lines = [
        line_series(
            f"b = {b:g}",
            SHARPNESS,
            np.array([rule_loss(sum_rule_network(a, b), rule_answers) for a in SHARPNESS]),
            Stroke.LINE,
            chart_style.SERIES[i],
        )
        for i, b in enumerate(SURENESS)
    ]
    return series_chart(
        "figure-16-loss",
        lines,
        x_title="a, sharpness of the units",
        y_title="log loss against the rule",
        caption=f"Theorem 4, corrected: difference of the network from one_threshold, {SIXTY_CELLS} cells.",
        alternative="The loss falls as a and b grow.",
        log=True,
    )


def _accuracy_chart() -> Chart:
    rows, _ = _rows()
    number = np.array([float(SIXTY_CELLS)])
    ends = SHARPNESS[[0, -1]]
    lines = [
        line_series(
            f"theorem {theorem}, corrected",
            SHARPNESS,
            np.array([network_accuracy(network(a, 16.0).chance(rows)).value for a in SHARPNESS]),
            Stroke.LINE,
            chart_style.SERIES[i],
        )
        for i, (theorem, network) in enumerate(((4, sum_rule_network), (5, vote_rule_network)))
    ]
    for attack, colour in (("likelihood", chart_style.PROMISE), ("two_threshold", chart_style.SERIES[1])):
        level = np.full(2, exact_values.accuracy("laplace", attack, number)[0])
        label = "optimum" if attack == "likelihood" else attack
        lines.append(line_series(label, ends, level, Stroke.DASHED, colour))
    return series_chart(
        "figure-16-accuracy",
        lines,
        x_title="a, sharpness of the units",
        y_title="accuracy",
        caption=f"Accuracy of networks with weights set by hand, b = 16, {SIXTY_CELLS} cells, informed, "
        "Laplace noise.",
        alternative="The network of theorem 4 has the accuracy of one_threshold whatever a is; that of "
        "theorem 5 rises from there, comes close to the optimum where a is about six, and falls back "
        "towards two_threshold.",
        log=True,
    )


FIGURE_16 = paper.PaperItem(
    title="Figure 16: weights set by hand, and how large they must be",
    about="Theorem 4 writes the one-threshold rule as a network with one hidden unit of scale a and an "
    "answer of scale b; theorem 5 writes the two-threshold rule as one with a unit for each cell. The "
    "paper draws loss and accuracy of the first. We draw both as corrected, against 40,000 releases of an "
    "informed game.",
    show=_figure_16,
    notes=(
        (
            "As printed neither network works: equation 12 lacks the inner sigmoid and has the wrong sign "
            "of aT, equation 14 the wrong sign of bn/2."
        ),
        (
            "Once corrected, the accuracy of theorem 4 does not depend on a or b, because one unit can only "
            "order releases by their sum."
        ),
        (
            "With soft units (a about 6) the network of theorem 5 is better than the two-threshold rule it "
            "represents: the likelihood ratio is a sum of clipped cells."
        ),
    ),
)
