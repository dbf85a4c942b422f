from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from leakgauge import catalog
from leakgauge.core.domain import Tunable
from leakgauge.core.errors import BadInput
from leakgauge.limits import Limits
from leakgauge.parameter_search.assessment import Assessment, RiskAssessor
from leakgauge.parameter_search.dimensions import Dimension, find_dimensions
from leakgauge.parameter_search.search import COMPUTED_EFFORT, ParameterSearch, usefulness
from leakgauge.plan import plan_of

EPSILON = Dimension(tunable=Tunable(key="m.epsilon", title="epsilon", low=0.001, high=20.0))
SUPPRESS = Dimension(
    tunable=Tunable(key="m.suppress", title="suppress", safer="larger", values=(0, 1, 2)), values=(0, 1, 2)
)


def assessed(setting, value, limit=0.6, utility=None):
    return Assessment(
        setting=setting,
        metric="accuracy",
        value=value,
        limit=limit,
        excess=value - limit,
        rate_excess=value - limit,
        attacker="a",
        basis="computed",
        utility=utility,
    )


def search(dimensions, assess, name=None):
    prefer = usefulness(dimensions, name, catalog.get_domain("locations"))
    return ParameterSearch(dimensions, assess, prefer, COMPUTED_EFFORT)


def computed_search(mechanism, pair, limit):
    """The search by the exact noise distribution, as ``tune`` does it."""
    table = {"name": "a", "domain": "blackbox", "challenger": {"pair": pair}, "mechanism": mechanism}
    plan = plan_of({"audit": [table], "limits": {"accuracy": limit}})
    assessor = RiskAssessor(plan=plan, audit=plan.audits[0], confidence=0.95, engine=None)
    key = next(f"mechanism.{name}" for name in ("sigma", "scale", "epsilon") if name in mechanism)
    from leakgauge import catalog

    dimensions = find_dimensions(catalog.get_domain("blackbox"), plan.audits[0], [key])
    found = search(dimensions, assessor.for_any_attacker).best()
    return found.setting[key]


def laplace_accuracy(epsilon, cells, bins=4001):
    """Best accuracy against Laplace noise on cells that differ by 1: the sum of losses, convolved on a grid.

    Without the target a loss is -epsilon with probability 1/2, epsilon with probability exp(-epsilon)/2, and
    has the density exp(-(l + epsilon)/2)/4 between.
    """
    width = 2 * epsilon / (bins - 1)
    losses = np.linspace(-epsilon, epsilon, bins)
    mass = np.exp(-(losses + epsilon) / 2) / 4 * width
    mass[0], mass[-1] = 0.5 + mass[0] / 2, exp(-epsilon) / 2 + mass[-1] / 2
    total = np.ones(1)
    for _ in range(cells):
        total = np.convolve(total, mass)
    grid = np.linspace(-cells * epsilon, cells * epsilon, total.size)
    # TV is the sum over l > 0 of (e^l - 1) P(l), with P the distribution without the target
    return 0.5 + 0.5 * float(np.sum(np.clip(np.expm1(grid), 0, None) * total))


@pytest.mark.parametrize("limit", [0.55, 0.6, 0.75, 0.9])
def test_largest_epsilon_of_one_laplace_count_is_that_of_the_closed_form(limit):
    exact = -2 * log(2 * (1 - limit))
    found = computed_search({"name": "laplace", "epsilon": 1.0}, [[0], [1]], limit)
    assert 0.99 * exact < found <= exact


@pytest.mark.parametrize("cells", [2, 5])
def test_largest_epsilon_of_several_laplace_counts_is_that_of_a_convolution(cells):
    found = computed_search({"name": "laplace", "epsilon": 1.0}, [[0] * cells, [1] * cells], 0.6)
    assert laplace_accuracy(found, cells) < 0.6 + 1e-6
    assert laplace_accuracy(1.01 * found, cells) > 0.6


def test_the_convolution_agrees_with_the_closed_form_of_one_count():
    assert laplace_accuracy(0.5, 1) == pytest.approx(1 - exp(-0.25) / 2, abs=1e-4)


@pytest.mark.parametrize("cells", [1, 9])
def test_smallest_sigma_of_gaussian_counts_is_that_of_the_closed_form(cells):
    exact = sqrt(cells) / (2 * norm.ppf(0.6))
    mechanism = {"name": "gaussian", "sigma": 1.0, "delta": 1e-5}
    found = computed_search(mechanism, [[0] * cells, [1] * cells], 0.6)
    assert exact <= found < 1.01 * exact


def test_every_setting_is_assessed_once():
    seen = []

    def assess(setting):
        seen.append(repr(setting))
        return assessed(setting, 1 - exp(-setting["m.epsilon"] / 2) / 2)

    one = search((EPSILON,), assess)
    one.best()
    one.best(0.05)
    assert len(seen) == len(set(seen))


def test_a_margin_leads_to_a_safer_setting():
    one = search((EPSILON,), lambda setting: assessed(setting, 1 - exp(-setting["m.epsilon"] / 2) / 2))
    below = one.best(0.05)
    assert below.setting["m.epsilon"] < one.best().setting["m.epsilon"]
    assert below.value < 0.55


def test_risk_that_rises_towards_the_safe_end_is_noticed():
    def assess(setting):
        return assessed(setting, 0.55 + 0.1 * setting["m.suppress"])

    one = search((SUPPRESS,), assess)
    assert one.best().setting == {"m.suppress": 0}
    assert one.try_setting({"m.suppress": 2}).value == pytest.approx(0.75)
    assert not one.is_monotone
    falls = search((SUPPRESS,), lambda setting: assessed(setting, 0.65 - 0.1 * setting["m.suppress"]))
    assert falls.best().setting == {"m.suppress": 1}
    assert falls.is_monotone


def test_the_most_useful_of_all_combinations_is_found():
    def assess(setting):
        epsilon, suppress = setting["m.epsilon"], setting["m.suppress"]
        value = 1 - exp(-epsilon / (1 + suppress) / 2) / 2
        error = 1 / epsilon + (0.1 if suppress == 2 else 0.0)
        return assessed(setting, value, utility={"mean_absolute_error": error})

    found = search((EPSILON, SUPPRESS), assess, "mean_absolute_error").best()
    assert found.setting["m.suppress"] == 2  # 3 times the epsilon outweighs the error it adds
    assert found.setting["m.epsilon"] == pytest.approx(3 * -2 * log(0.8), rel=0.01)


def test_settings_that_a_plan_does_not_allow_are_left_out():
    def assess(setting):
        if setting["m.suppress"] == 0:
            raise BadInput("suppress must be above 0")
        return assessed(setting, 0.5)

    one = search((SUPPRESS,), assess)
    assert one.best().setting == {"m.suppress": 1}
    assert [why for _, why in one.impossible.values()] == ["suppress must be above 0"]


def test_nothing_is_found_where_no_setting_is_below_the_limit():
    one = search((EPSILON,), lambda setting: assessed(setting, 0.7 + 0.01 * setting["m.epsilon"]))
    assert one.best() is None
    assert one.closest().setting == {"m.epsilon": 0.001}


def test_a_limit_on_recognised_people_needs_no_margin():
    one = search(
        (SUPPRESS,), lambda setting: Assessment(**{**vars(assessed(setting, 0.5)), "excess": -0.001})
    )
    assert one.best(0.05).setting == {"m.suppress": 0}


def test_limits_of_a_plan_without_metrics_have_no_bound():
    plan = plan_of({"audit": [{"name": "a", "domain": "blackbox", "challenger": {"pair": [[0], [1]]}}]})
    assessor = RiskAssessor(plan=plan, audit=plan.audits[0], confidence=0.95, engine=None)
    assert assessor.limits == Limits()
    assert assessor.for_any_attacker({}) is None


def test_a_setting_between_one_that_is_over_and_one_that_is_impossible_is_found():
    """A budget of whole answers that cost 0.5 each: below 0.5 there is none, and only one answer is safe."""

    def assess(setting):
        n = int(setting["m.epsilon"] / 0.5)
        if not n:
            raise BadInput("the budget is below the cost of one answer")
        return assessed(setting, 0.59 if n == 1 else 0.7)

    found = search((EPSILON,), assess).best()
    assert 0.99 < found.setting["m.epsilon"] < 1.0
