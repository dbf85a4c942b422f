"""Beyond the paper: the same mechanisms with a true epsilon, and the trade-off in one chart."""

from collections.abc import Mapping

from leakgauge.domains.federated.clients.utility import ClassifierUtility
from leakgauge.papers import comparison, metric_intervals, paper
from leakgauge.papers.nguyen23 import data, plans, server
from leakgauge.papers.series_chart import dot_series, series_chart
from leakgauge.report.charts import chart_style
from leakgauge.report.page import Chart
from leakgauge.verdict import Verdict

MECHANISMS = {"bitrand": "BitRand", "ome": "OME"}


def _name(mechanism: str, form: data.FeatureForm, epsilon: int) -> str:
    return f"exact-{mechanism}-{form}-{epsilon}"


def _points(scope: paper.Scope) -> list[tuple[str, data.FeatureForm, int]]:
    return [
        (mechanism, form, epsilon)
        for mechanism in MECHANISMS
        for form in data.FeatureForm
        for epsilon in plans.FEW_EPSILONS[scope.scale]
    ]


def _audits(scope: paper.Scope) -> list[paper.AuditTable]:
    return [
        plans.audit_table(
            _name(mechanism, form, epsilon),
            scope,
            data.CIFAR_10,
            form,
            plans.noise_table(mechanism, epsilon, exact=True),
            [plans.likelihood_attack(data.CIFAR_10, form, hinges=16)],
        )
        for mechanism, form, epsilon in _points(scope)
    ]


RUN = paper.PaperRun(name="calibrated", audits=_audits)


def _show(played: paper.PlayedItem) -> paper.ItemResult:
    scope = played.scope
    by_audit = {verdict.audit: verdict for verdict in played.verdicts}
    cells, exact = [], {}
    for mechanism, form, epsilon in _points(scope):
        name = _name(mechanism, form, epsilon)
        if name not in by_audit:
            continue
        useful = server.audit_setup(played.plans.values(), name).utility()
        exact[mechanism, form, epsilon] = (useful, metric_intervals.accuracy(by_audit[name]))
        cells += _cells(scope, mechanism, form, epsilon, by_audit[name], useful)
    nominal = {
        (point.form, point.epsilon): (
            server.audit_setup(played.plans.values(), point.name(plans.BITRAND.mechanism)).utility(),
            metric_intervals.accuracy(verdicts[plans.LIKELIHOOD]),
        )
        for point, verdicts in _nominal(played).items()
    }
    charts = [_chart(scope, form, exact, nominal) for form in data.FeatureForm if exact]
    return paper.ItemResult(tuple(cells), tuple(charts), (data.data_note(scope, (data.CIFAR_10,)),))


def _nominal(played: paper.PlayedItem) -> plans.VerdictsByGame:
    games = plans.BITRAND.games(played.scope.scale, played.verdicts)
    return {point: verdicts for point, verdicts in games.items() if point.column is data.CIFAR_10}


def _cells(
    scope: paper.Scope,
    mechanism: str,
    form: data.FeatureForm,
    epsilon: int,
    verdict: Verdict,
    useful: ClassifierUtility,
) -> list[comparison.ComparedNumber]:
    here = f"{MECHANISMS[mechanism]} at an exact ε of {epsilon}: {data.CIFAR_10.description(scope, form)}"
    return [
        comparison.ComparedNumber(
            setting=f"success, {here}",
            ours=metric_intervals.accuracy(verdict),
            why="The same mechanism protects if its ε is true; blind guessing succeeds with 0.5.",
        ),
        comparison.ComparedNumber(
            setting=f"right answers of an honest classifier, {here}",
            ours=comparison.exact_number(useful.noisy),
            why=f"Tested on clean rows {useful.on_clean:.3f}; without any noise {useful.clean:.3f}; blind "
            "guessing among ten classes 0.1.",
        ),
    ]


def _chart(
    scope: paper.Scope,
    form: data.FeatureForm,
    exact: Mapping[tuple[str, data.FeatureForm, int], tuple[ClassifierUtility, comparison.OurNumber]],
    nominal: Mapping[tuple[data.FeatureForm, int], tuple[ClassifierUtility, comparison.OurNumber]],
) -> Chart:
    traces = [
        dot_series(
            f"{words}, exact ε of 1 to 10",
            [
                (useful.noisy, won)
                for (name, of, _), (useful, won) in exact.items()
                if (name, of) == (key, form)
            ],
            colour,
        )
        for (key, words), colour in zip(
            MECHANISMS.items(), (chart_style.SERIES[2], chart_style.SERIES[4]), strict=True
        )
    ]
    labelled = [
        dot_series(f"BitRand, nominal ε = {epsilon}", [(useful.noisy, won)], colour)
        for ((of, epsilon), (useful, won)), colour in zip(
            nominal.items(), chart_style.colours(len(nominal)), strict=True
        )
        if of is form
    ]
    best = max((useful.noisy for (_, of, _), (useful, _) in exact.items() if of is form), default=0.0)
    return series_chart(
        f"trade-off-{form}".replace("_", "-"),
        [*traces, *labelled],
        x_title="right answers of an honest classifier of perturbed rows",
        y_title="games won",
        caption=f"{data.CIFAR_10.description(scope, form)}: how useful the rows are, and how much they "
        "reveal.",
        alternative="Where ε is true, the server can only guess, and the classifier is right at most "
        f"{best:.0%} of the time; where it is nominal, both the server and the classifier do better.",
    )


EXACT = paper.PaperItem(
    title="Beyond the paper: a true ε",
    about="BitRand and OME with noise whose exact ε, the sum over all bits, is 1 to 10. Both the server and "
    "the classifier can only guess: 512 features share an ε of 10, which leaves 0.02 for each. One chart "
    "shows success against usefulness, for true and for nominal ε.",
    shared_runs=(RUN, plans.BITRAND.run),
    show=_show,
)
