"""Figures 6, 14, 15 and 16: how active people are, and what a release is made of."""

from typing import Any

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.mobility import synthetic_traces
from leakgauge.papers import comparison, paper
from leakgauge.papers.guan24 import plans
from leakgauge.papers.guan24.population import SEED, mean_with_interval, population
from leakgauge.papers.guan24.statements import PUBLISHED, place_prefix
from leakgauge.papers.series_chart import dot_series, line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.histograms import HistogramBars, density_chart
from leakgauge.report.page import Chart, LegendEntry, Stroke

MANY = 200_000  # draws of a distribution
DRAWN = {paper.Scale.QUICK: 4, paper.Scale.FULL: 20}
LOG_NORMAL = "This city is generated with log-normal activity: no other result is possible."
SKEWS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)


def _law(mean: float, activity: synthetic_traces.Activity, skew: float = 6.0) -> Reals:
    rng = stream(SEED, Role.STUDY, 7)
    return np.sort(
        synthetic_traces.draw_visits(mean, MANY, activity, skew, synthetic_traces.VisitRounding.FAIR, rng)
    ).astype(np.float64)


def _distance(visits: Reals, law: Reals) -> float:
    """The largest difference of the two distribution functions (Kolmogorov)."""
    places = np.union1d(visits, law)
    shares = (
        np.searchsorted(np.sort(values), places, side="right") / values.size for values in (visits, law)
    )
    first, second = shares
    return float(np.abs(first - second).max())


def _laws(visits: Reals) -> dict[str, Reals]:
    mean = float(visits.mean())
    fitted = min(
        SKEWS, key=lambda skew: _distance(visits, _law(mean, synthetic_traces.Activity.LOGNORMAL, skew))
    )
    return {
        f"log-normal, the best skewness ({fitted:g})": _law(
            mean, synthetic_traces.Activity.LOGNORMAL, fitted
        ),
        "exponential": _law(mean, synthetic_traces.Activity.EXPONENTIAL),
        "constant": _law(mean, synthetic_traces.Activity.CONSTANT),
    }


def _figure_6(played: paper.PlayedItem) -> paper.ItemResult:
    cells, charts = [], []
    for place in (plans.CDR, plans.main_place(played.scope), *plans.substitutes(played.scope)):
        visits = population(place).challenger.traces.n_visits.astype(np.float64)
        laws = _laws(visits)
        generated = place in (plans.CDR, plans.CITY)
        distances = {name: _distance(visits, law) for name, law in laws.items()}
        best, exponential, constant = distances.values()
        claim = comparison.PublishedNumber(
            value=0.0,
            where="“best approximated by a lognormal”, figure 6; of other cities, section 7.3",
            claim=comparison.Claim.ABOVE,
        )
        for words, gain, published in (
            ("exponential minus the best log-normal", exponential - best, claim),
            ("constant minus exponential", constant - exponential, None),
        ):
            cells.append(
                comparison.ComparedNumber(
                    setting=f"{place_prefix(place)}activity, distance to the truth: {words}",
                    ours=comparison.exact_number(gain),
                    published=published,
                    other_data=generated and published is not None,
                    why=LOG_NORMAL if generated else "",
                )
            )
        cells += [
            comparison.ComparedNumber(
                setting=f"{place_prefix(place)}activity, {name}: distance to the truth",
                ours=comparison.exact_number(value),
            )
            for name, value in distances.items()
        ]
        charts.append(_activity_chart(f"figure-6-{place.name}", place, visits, laws))
    return paper.ItemResult(tuple(cells), tuple(charts), (plans.place_note(played.scope),))


def _activity_chart(name: str, place: plans.LocationDataSet, visits: Reals, laws: dict[str, Reals]) -> Chart:
    xs = np.unique(np.round(np.geomspace(1, visits.max(), 60))).astype(np.float64)
    colours = (chart_style.INK, *chart_style.SERIES)
    verdicts = {"truth": visits, **laws}
    traces = [
        line_series(
            label,
            xs,
            np.searchsorted(np.sort(values), xs, side="left") / -values.size + 1,
            Stroke.LINE if label == "truth" else Stroke.DASHED,
            colour,
        )
        for (label, values), colour in zip(verdicts.items(), colours, strict=False)
    ]
    return series_chart(
        name,
        traces,
        x_title="visits",
        y_title="share of people with as many or more",
        caption=f"How many visits people make, and distributions of the same mean: {place.description}.",
        alternative="The log-normal distribution with the best skewness follows the truth; the exponential "
        "one has "
        "too few people with many visits, and the constant one falls at the mean.",
        log=True,
    )


def _figure_14(played: paper.PlayedItem) -> paper.ItemResult:
    cells, charts = [], []
    means = {}
    for place in (plans.CDR, plans.main_place(played.scope)):
        people = population(place)
        visits = people.challenger.traces.n_visits[people.challenger.people.targets].astype(np.float64)
        means[place.stands_for] = float(visits.mean())
        for words, value in (("mean", visits.mean()), ("median", np.median(visits)), ("most", visits.max())):
            cells.append(
                comparison.ComparedNumber(
                    setting=f"{place_prefix(place)}visits of 50 targets, {words}",
                    ours=comparison.exact_number(value),
                )
            )
        edges = np.linspace(0, visits.max() + 1, 21)
        heights = np.histogram(visits, edges)[0].astype(float)
        charts.append(
            density_chart(
                f"figure-14-{place.name}",
                [HistogramBars("targets", edges, heights, chart_style.SERIES[0])],
                x_title="visits",
                y_title="targets",
                caption=f"Visits of 50 targets with 10 or more: {place.description}.",
                alternative="Most targets have few visits; a few have many.",
            )
        )
    original = plans.main_place(played.scope).is_original
    cells.append(
        comparison.ComparedNumber(
            setting="visits per target, CDR over Milan",
            ours=comparison.exact_number(means["CDR"] / means["Milan"]),
            published=PUBLISHED["figure_14_visits_ratio"],
            other_data=True,
            why="The city that stands for the call records has six times the visits of an average person, "
            "not of a target." + ("" if original else " The tweets of Milan were not given."),
        )
    )
    return paper.ItemResult(tuple(cells), tuple(charts), (plans.place_note(played.scope),))


def _figure_15(played: paper.PlayedItem) -> paper.ItemResult:
    cells: list[comparison.ComparedNumber] = []
    traces = []
    n = DRAWN[played.scope.scale]
    for place, colour in (
        (plans.CDR, chart_style.SERIES[0]),
        (plans.main_place(played.scope), chart_style.SERIES[1]),
    ):
        counts = population(place).releases(plans.ReleaseSetting(k=0), n)
        verdicts = []
        for k in plans.THRESHOLDS:
            shares = [float((row[row > 0] <= k).mean()) for row in counts]
            ours = comparison.exact_number(0.0) if k == 0 else mean_with_interval(shares)
            verdicts.append((float(k), ours))
            last = k == plans.THRESHOLDS[-1]
            cells.append(
                comparison.ComparedNumber(
                    setting=f"{place_prefix(place)}share of counts above 0 that are suppressed, k = {k}",
                    ours=ours,
                    published=PUBLISHED["figure_15_suppressed_share"] if last else None,
                    other_data=not place.is_original,
                    drawn=not last,
                    why=place.why_not,
                )
            )
        values = np.array([ours.value for _, ours in verdicts])
        traces.append(
            line_series(place.description, np.array(plans.THRESHOLDS, float), values, Stroke.LINE, colour)
        )
        traces.append(dot_series(f"{place.description}, drawn", verdicts, colour))
    chart = series_chart(
        "figure-15",
        traces,
        x_title="suppression threshold k",
        y_title="share of counts above 0 that are suppressed",
        caption="How much of a release of 1,000 people is lost to suppression.",
        alternative="The share rises steeply from k = 0 and flattens.",
        played="mean over releases, 95 % interval",
    )
    return paper.ItemResult(tuple(cells), (chart,), (plans.place_note(played.scope),))


def _figure_16(played: paper.PlayedItem) -> paper.ItemResult:
    main = plans.main_place(played.scope)
    people = population(main)
    truth = people.truth
    charts = [
        _shares("figure-16-space", np.sort(truth.space)[::-1], "place, by popularity", main, "space"),
        _shares("figure-16-time", truth.time, "hour", main, "time"),
    ]
    cells = [
        comparison.ComparedNumber(
            setting=f"{place_prefix(main)}visits per person", ours=comparison.exact_number(truth.mean)
        )
    ]
    if people.challenger.traces.map.positions is not None:
        positions = people.challenger.traces.map.positions
        charts.append(_triangulation(positions, main))
        graph = synthetic_traces.delaunay_graph(positions)
        edges = graph.neighbours.size / 2
        cells.append(
            comparison.ComparedNumber(
                setting=f"{place_prefix(main)}neighbours of a place in the Delaunay triangulation, on "
                "average",
                ours=comparison.exact_number(2 * edges / graph.n_places),
            )
        )
    return paper.ItemResult(tuple(cells), tuple(charts), (plans.place_note(played.scope, cdr=False),))


def _shares(name: str, shares: Reals, x_title: str, place: plans.LocationDataSet, side: str) -> Chart:
    xs = np.arange(shares.size, dtype=float) + 1
    return series_chart(
        name,
        [line_series("truth", xs, shares, Stroke.LINE, chart_style.SERIES[0])],
        x_title=x_title,
        y_title="share of visits",
        caption=f"The true {side} marginal: {place.description}.",
        alternative=f"The shares of the {side} marginal.",
    )


def _triangulation(positions: Reals, place: plans.LocationDataSet) -> Chart:
    graph = synthetic_traces.delaunay_graph(positions)
    kilometres = np.round(positions / 1000, 3)
    rows: list[dict[str, Any]] = []
    for first in range(graph.n_places):
        for second in graph.neighbours[graph.starts[first] : graph.starts[first + 1]].tolist():
            if first < second:
                (x, y), (x2, y2) = kilometres[first].tolist(), kilometres[second].tolist()
                rows.append({"x": x, "y": y, "x2": x2, "y2": y2})
    spec = chart_style.vega_spec(
        420,
        data={"values": rows},
        mark={"type": "rule", "color": chart_style.SERIES[0], "strokeWidth": 1.5},
        encoding={
            "x": chart_style.field("x:Q", title="kilometres east", scale={"zero": False}),
            "y": chart_style.field("y:Q", title="kilometres north", scale={"zero": False}),
            "x2": chart_style.field("x2"),
            "y2": chart_style.field("y2"),
        },
    )
    return Chart(
        "figure-16-triangulation",
        f"The Delaunay triangulation of the places: {place.description}.",
        "A net of triangles that joins neighbouring places.",
        spec,
        (LegendEntry("neighbouring places", chart_style.SERIES[0], Stroke.LINE),),
    )


FIGURE_6 = paper.PaperItem(
    title="Figure 6: how many visits people make",
    about="A release does not say how unequally active people are. The paper takes an exponential "
    "distribution of "
    "the mean it estimates; a log-normal one with the right skewness would be better. Distances are the "
    "largest difference of two distribution functions.",
    show=_figure_6,
    notes=(
        (
            "Our cities are generated with log-normal activity, so that the log-normal distribution must fit "
            "them: this is judged on real data only (--data). That the exponential one is close is a result."
        ),
    ),
)
FIGURE_14 = paper.PaperItem(
    title="Figure 14: visits of the targets",
    about="How many visits each of 50 targets has, after the daily cap.",
    show=_figure_14,
)
FIGURE_15 = paper.PaperItem(
    title="Figure 15: how much suppression destroys",
    about="The share of the counts above 0 in a release of 1,000 people that suppression sets to 0.",
    show=_figure_15,
)
FIGURE_16 = paper.PaperItem(
    title="Figure 16: the parts of synthetic traces",
    about="The model of Farzanehfar et al. needs the space, time and activity marginals (the last is in "
    "figure 6) and the Delaunay triangulation of the places.",
    show=_figure_16,
    notes=(
        ("Section 5.1 gives the places of Milan an area of 256 km²; squares of 1.6 km have 2.56 km²."),
        (
            "In the paper's code the triangulation is scrambled: neighbours go by the row of a place, "
            "traces by its number. Ours joins places that are next to each other."
        ),
    ),
)
