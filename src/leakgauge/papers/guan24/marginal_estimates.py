"""Figures 4, 5, 13 and 17: where and when people move, estimated from one release."""

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from leakgauge.domains.locations.mobility.mobility_profile import total_variation
from leakgauge.papers import comparison, paper
from leakgauge.papers.guan24 import plans
from leakgauge.papers.guan24.population import (
    DECONVOLUTION,
    METHOD_NAMES,
    METHODS,
    Population,
    mean_with_interval,
    population,
)
from leakgauge.papers.guan24.statements import place_prefix, with_reason
from leakgauge.papers.series_chart import line_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart, Stroke

RELEASES = {paper.Scale.QUICK: 4, paper.Scale.FULL: 20}
WEEK = 168  # hours
SUPPRESSED, NOISY, RAW = (
    plans.ReleaseSetting(k=1),
    plans.ReleaseSetting(epsilon=1.0),
    plans.ReleaseSetting(k=0),
)
SCALES = (
    plans.ReleaseSetting(epsilon=1.0),
    plans.ReleaseSetting(epsilon=0.5),
    plans.ReleaseSetting(epsilon=1.0, unit=plans.USER_DAY),
    plans.ReleaseSetting(epsilon=0.1, unit=plans.USER_DAY),
)
COLOURS = dict(zip(METHODS, chart_style.SERIES, strict=False))
SIDES = ("space", "time")


@lru_cache(maxsize=64)
def _distances(
    place: plans.LocationDataSet, release: plans.ReleaseSetting, side: str, n: int
) -> dict[str, tuple[float, ...]]:
    """The distance of each estimate of each of n releases from the truth, in total variation."""
    people = population(place)
    truth = getattr(people.truth, side)
    published = people.releases(release, n)
    return {
        method: tuple(total_variation(people.shares(row, release, method, side), truth) for row in published)
        for method in METHODS
    }


def _cells(
    place: plans.LocationDataSet, release: plans.ReleaseSetting, side: str, scale: paper.Scale
) -> list[comparison.ComparedNumber]:
    """The distance of every estimator, smaller is better."""
    verdicts = _distances(place, release, side, RELEASES[scale])
    return [
        comparison.ComparedNumber(
            setting=f"{place_prefix(place)}{side} marginal, {release.description}, {METHOD_NAMES[method]}: "
            "distance to the truth",
            ours=mean_with_interval(list(values)),
        )
        for method, values in verdicts.items()
    ]


def _gain(
    place: plans.LocationDataSet,
    release: plans.ReleaseSetting,
    side: str,
    scale: paper.Scale,
    pair: tuple[str, str],
    published: comparison.PublishedNumber | None,
) -> comparison.ComparedNumber:
    """How much closer one estimator is to the truth than another, over the same releases."""
    worse, better = pair
    verdicts = _distances(place, release, side, RELEASES[scale])
    gains = [a - b for a, b in zip(verdicts[worse], verdicts[better], strict=True)]
    cell = comparison.ComparedNumber(
        setting=f"{place_prefix(place)}{side} marginal, {release.description}: distance of "
        f"{METHOD_NAMES[worse]} minus that of {METHOD_NAMES[better]}",
        ours=mean_with_interval(gains),
        published=published,
    )
    why = (
        "The denser the release, the smaller the necessary correction; the transform does not take this into "
        "account."
    )
    return cell if published is None else with_reason(cell, why)


def _correction(
    release: plans.ReleaseSetting, side: str, method: str, where: str, number: int, played: paper.PlayedItem
) -> paper.ItemResult:
    """Figures 4 and 5: one transform of the totals, on the call records."""
    scale, main = played.scope.scale, plans.main_place(played.scope)
    claim = comparison.PublishedNumber(value=0.0, where=where, claim=comparison.Claim.ABOVE)
    cells = []
    for place in (plans.CDR, main):
        stated = claim if place is plans.CDR else None  # the figure is about the call records
        cells.append(_gain(place, release, side, scale, ("raw", method), stated))
        cells.append(_gain(place, release, side, scale, (method, DECONVOLUTION), None))
        cells += _cells(place, release, side, scale)
    charts = [
        _chart(
            f"figure-{number}-{place.name}", population(place), release, side, ("raw", method, DECONVOLUTION)
        )
        for place in (plans.CDR, main)
    ]
    return paper.ItemResult(tuple(cells), tuple(charts), (plans.place_note(played.scope),))


def _chart(
    name: str, people: Population, release: plans.ReleaseSetting, side: str, methods: Sequence[str]
) -> Chart:
    """The truth and some estimates of one release; places by popularity, hours of the first week."""
    truth = getattr(people.truth, side)
    order = np.argsort(-truth) if side == "space" else np.arange(min(WEEK, truth.size))
    xs = np.arange(order.size, dtype=float) + 1
    published = people.releases(release, 1)[0]
    traces = [line_series("truth", xs, truth[order], Stroke.LINE, chart_style.INK)]
    for method in methods:
        shares = people.shares(published, release, method, side)
        stroke = Stroke.LINE if method == DECONVOLUTION else Stroke.DASHED
        traces.append(line_series(METHOD_NAMES[method], xs, shares[order], stroke, COLOURS[method]))
    return series_chart(
        name,
        traces,
        x_title="place, by popularity" if side == "space" else "hour",
        y_title="share of visits",
        caption=f"The {side} marginal from one release of {people.place.group:,} people, "
        f"{release.description}: "
        f"{people.place.description}.",
        alternative="The line of the deconvolution lies closest to the truth; the totals are too uneven "
        "under suppression and too even under noise, and the transform corrects some of it.",
    )


def _figure_13(played: paper.PlayedItem) -> paper.ItemResult:
    scale, main = played.scope.scale, plans.main_place(played.scope)
    cells = [
        cell for place in (plans.CDR, main) for side in SIDES for cell in _cells(place, RAW, side, scale)
    ]
    charts = tuple(
        _chart(f"figure-13-{place.name}", population(place), RAW, "time", ("raw", DECONVOLUTION))
        for place in (plans.CDR, main)
    )
    return paper.ItemResult(tuple(cells), charts, (plans.place_note(played.scope),))


def _figure_17(played: paper.PlayedItem) -> paper.ItemResult:
    scale, main = played.scope.scale, plans.main_place(played.scope)
    people = population(main)
    cells: list[comparison.ComparedNumber] = []
    for side in SIDES:
        n_shares = getattr(people.truth, side).size
        even = np.full(n_shares, 1 / n_shares)
        uneven = []
        for release in SCALES:
            rows = people.releases(release, RELEASES[scale])
            verdicts = [total_variation(people.shares(row, release, "raw", side), even) for row in rows]
            uneven.append(verdicts)
            cells.append(
                comparison.ComparedNumber(
                    setting=f"{place_prefix(main)}{side} marginal, noise of scale {_scale(release, main):g}: "
                    "distance of the totals to even shares",
                    ours=mean_with_interval(verdicts),
                )
            )
        cells.append(
            comparison.ComparedNumber(
                setting=f"{place_prefix(main)}{side} marginal: distance to even shares at scale 1 minus that "
                "at scale 10",
                ours=mean_with_interval([a - b for a, b in zip(uneven[0], uneven[2], strict=True)]),
                published=comparison.PublishedNumber(
                    value=0.0, where="“compressed”, section 4.3.1", claim=comparison.Claim.ABOVE
                ),
            )
        )
        cells.append(
            comparison.ComparedNumber(
                setting=f"{place_prefix(main)}{side} marginal: distance to even shares at scale 100 over "
                "that at scale 10",
                ours=mean_with_interval([b / a for a, b in zip(uneven[2], uneven[3], strict=True)]),
                published=comparison.PublishedNumber(
                    value=0.5,
                    where="“does not converge to a uniform distribution”, figure 17; if it did, ten times "
                    "the noise would leave a tenth",
                    claim=comparison.Claim.ABOVE,
                ),
            )
        )
        for release in SCALES:
            cells += _cells(main, release, side, scale)
    charts = tuple(_noise_chart(people, side) for side in SIDES)
    return paper.ItemResult(tuple(cells), charts, (plans.place_note(played.scope, cdr=False),))


def _scale(release: plans.ReleaseSetting, place: plans.LocationDataSet) -> float:
    return (place.per_day if release.unit == plans.USER_DAY else 1) / (release.epsilon or 1.0)


def _noise_chart(people: Population, side: str) -> Chart:
    truth = getattr(people.truth, side)
    order = np.argsort(-truth) if side == "space" else np.arange(truth.size)
    xs = np.arange(order.size, dtype=float) + 1
    traces = [line_series("truth", xs, truth[order], Stroke.LINE, chart_style.INK)]
    for release, colour in zip(SCALES, chart_style.SERIES, strict=False):
        row = people.releases(release, 1)[0]
        shares = people.shares(row, release, "raw", side)
        label = f"totals, noise of scale {_scale(release, people.place):g}"
        traces.append(line_series(label, xs, shares[order], Stroke.DASHED, colour))
    return series_chart(
        f"figure-17-{side}",
        traces,
        x_title="place, by popularity" if side == "space" else "hour",
        y_title="share of visits",
        caption=f"The {side} marginal estimated from the totals of a release, by scale of the noise: "
        f"{people.place.description}.",
        alternative="The more noise, the flatter the line, until the noise itself makes it rough.",
    )


FIGURE_4 = paper.PaperItem(
    title="Figure 4: log compression under suppression",
    about="Suppression favours popular hours, so their share in the totals is too large. Log compression "
    "evens the shares out. We compare it with our deconvolution, which uses the exact distribution of the "
    "release. Distances are total variation, from 0 to 1, the mean over several releases.",
    show=partial(_correction, SUPPRESSED, "time", "log", "“better approximated”, figure 4", 4),
)
FIGURE_5 = paper.PaperItem(
    title="Figure 5: the power transform under noise",
    about="Noise, cut off at 0, adds about the same to every cell, so the shares of places become too even. "
    "A power makes them uneven again. We compare it with our deconvolution.",
    show=partial(_correction, NOISY, "space", "power", "“better approximated”, figure 5", 5),
    notes=(
        (
            "Algorithm 4 as printed returns the variance instead of the power, and does not end where "
            "shares vary enough from the start; the power is found by bisection here."
        ),
        (
            "In the paper's code the search begins at a power of 0 and ends there, so both marginals become "
            "even (“as in the paper's code”); its results under noise may depend on this bug."
        ),
    ),
)
FIGURE_13 = paper.PaperItem(
    title="Figure 13: the time marginal from raw counts",
    about="Without noise and suppression the totals of one group of 1,000 are a good estimate of when "
    "people move.",
    show=_figure_13,
)
FIGURE_17 = paper.PaperItem(
    title="Figure 17: marginals under more and more noise",
    about="The totals of places and of hours under noise of scale 1, 2, 10 and 100. By theorem A.2 they "
    "tend to even shares as a sparse release grows longer; of a given length they become rough instead.",
    show=_figure_17,
    notes=(
        (
            "Lemma A.3 (the mean b / 2 of noise cut off at 0) is for noise that is not rounded. Rounded "
            "down, as it is published, it is smaller: 0.291 instead of 0.5 at scale 1."
        ),
    ),
)
