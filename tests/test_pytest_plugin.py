"""The pytest plugin: what fails, what is a usage error, and how often a kept promise fails a test."""

import os
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from inner_pytest import run_inner_tests
from leakgauge.catalog import PreparedAudit
from leakgauge.core.guarantee import Guarantee
from leakgauge.domains.blackbox.function_audit import prepare_function_audit
from leakgauge.plan import MetricsTable
from leakgauge.pytest_plugin import CONFIDENCE, PrivacyAssertion, node_seed
from leakgauge.runner.block_store import RoundBlock
from leakgauge.runner.engines import InProcessEngine
from leakgauge.runner.in_memory import audit_mechanism, rounds_to_decide
from leakgauge.runner.play_block import study_attacks
from leakgauge.verdict import Finding, decide_finding
from night import others_at_night

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
HEAD = """
import math
import pytest

def coin(value, rng):  # randomized response: epsilon is 1, with nothing to spare
    return value if rng.random() < 1 / (1 + math.exp(-1)) else 1 - value

def half_noise(count, rng):
    return round(count + rng.laplace(scale=0.5))

def float_laplace(count, rng):
    return count + rng.laplace(scale=1.0)
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run a test file with the plugin."""

    def run_tests(code, *arguments):
        pytester.makepyfile(HEAD + code)
        return run_inner_tests(pytester, monkeypatch, *arguments)

    return run_tests


def test_a_promise_that_is_kept_passes_and_a_broken_one_fails_with_the_evidence(run):
    result = run("""
def test_coin(assert_private):
    found = assert_private(coin, (0, 1), 1.0, rounds=2000)
    assert found.finding == "not violated" and found.rounds == 2000

def test_half(assert_private):
    assert_private(half_noise, (10, 11), epsilon=1.0, rounds=2000)
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "half_noise breaks its promise of epsilon = 1.",
            "Its outputs show an epsilon of at least 1.*, at a confidence of 0.999, in 2,000 rounds.",
            "What distinguishes the two inputs: the number.",
            "Seed: *.",
        ]
    )


def test_float_noise_is_found_by_its_last_bits(run):
    result = run("""
def test_float(assert_private):
    assert_private(float_laplace, (0.0, 1.0), epsilon=1.0, rounds=4000)
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["What distinguishes the two inputs: *rounding of floating-point sums*"])


def test_too_few_rounds_are_refused_before_the_mechanism_is_called(run):
    needed = rounds_to_decide((0, 1), epsilon=1.0, confidence=CONFIDENCE)
    result = run(f"""
def never(value, rng):
    raise AssertionError("the mechanism was called")

def test_few(assert_private):
    assert_private(never, (0, 1), 1.0, rounds={needed - 1})

def test_few_for_three_pairs(assert_private):
    assert_private(never, [(0, 1), (1, 2), (2, 3)], 1.0, rounds={needed})

def test_too_weak(assert_private):
    assert_private(never, (0, 1), 60.0)
""")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            f"E *UsageError: assert_private: {needed - 1} rounds are too few for*at least {needed} *",
            f"E *UsageError: assert_private: {needed} rounds are too few for*",
            "E *UsageError: assert_private: epsilon = 60, delta = 0 is too weak a promise to test*",
        ]
    )
    result.stdout.no_fnmatch_line("*the mechanism was called*")


@pytest.mark.parametrize(
    ("epsilon", "confidence"), others_at_night(product((0.1, 1.0, 3.0), (0.95, 0.999)), (1.0, 0.999))
)
def test_the_rounds_that_are_named_decide_and_no_fewer_do(epsilon, confidence):
    needed = rounds_to_decide((0, 1), epsilon=epsilon, confidence=confidence)

    def tell(value, rng):
        return value

    def hide(value, rng):
        return value if rng.random() < 0.01 else int(rng.integers(2))

    def finding(release, rounds):
        return audit_mechanism(release, (0, 1), epsilon=epsilon, rounds=rounds, confidence=confidence).finding

    assert finding(tell, needed) is Finding.VIOLATED
    assert finding(hide, needed) is Finding.NOT_VIOLATED
    assert finding(hide, needed - 1) in (Finding.UNDECIDED, Finding.UNTESTABLE)


def test_what_cannot_be_tested_fails(run):
    result = run("""
def test_constant(assert_private):
    assert_private(lambda value, rng: 7, (0, 1), 1.0, rounds=500)
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["assert_private: <lambda> could not be tested: *"])


def test_wrong_arguments_are_usage_errors(run):
    result = run("""
@pytest.mark.parametrize("arguments", [((1, 1), 1.0), ((0, 1), -1.0), ((0, 1), "1"), ([], 1.0)])
def test_wrong(assert_private, arguments):
    assert_private(coin, *arguments, rounds=500)
""")
    result.assert_outcomes(failed=4)
    assert str(result.stdout).count("\nE       pytest.UsageError: assert_private: ") == 4


def test_marker_and_option_scale_the_rounds(run):
    code = """
@pytest.mark.leakgauge(rounds=1000)
def test_rounds(assert_private):
    assert assert_private(coin, (0, 1), 1.0).rounds == 500

@pytest.mark.leakgauge(rounds=1000, scale=0.2)
def test_scale(assert_private):
    assert assert_private(coin, (0, 1), 1.0).rounds == 100

@pytest.mark.leakgauge(scale=3)
def test_argument(assert_private):
    assert assert_private(coin, (0, 1), 1.0, rounds=100).rounds == 150
"""
    run(code, "--strict-markers", "--leakgauge-scale=0.5").assert_outcomes(passed=3)
    run(code, "--strict-markers", "-o", "leakgauge_scale=0.5").assert_outcomes(passed=3)


@pytest.mark.parametrize("factor", ["0", "-1", "nan", "inf", "two"])
def test_a_scale_that_is_none_is_refused(run, factor):
    result = run("def test_it(assert_private): pass", f"--leakgauge-scale={factor}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*--leakgauge-scale: must be a number > 0, got '{factor}'*"])


@pytest.mark.parametrize("marker", ["rounds=0", "rounds=1.5", "round=5", "5", "scale=0"])
def test_a_wrong_marker_is_refused(run, marker):
    result = run(f"""
@pytest.mark.leakgauge({marker})
def test_it(assert_private): pass
""")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*UsageError: @pytest.mark.leakgauge*"])


def test_seeds_differ_between_tests_and_calls_and_stay_the_same(run):
    code = """
def test_calls(assert_private):
    first, second = (assert_private(coin, (0, 1), 1.0, rounds=120) for _ in range(2))
    assert first.seed != second.seed
    print("drawn", first.seed, second.seed)
"""
    seeds = [
        next(line for line in run(code, "-s").outlines if "drawn" in line).split()[-2:] for _ in range(2)
    ]
    assert seeds[0] == seeds[1]
    name = "test_seeds_differ_between_tests_and_calls_and_stay_the_same.py::test_calls"
    assert seeds[0] == [str(node_seed(name, number)) for number in (0, 1)]


def test_reports_note_what_could_have_been_found(run, pytester):
    run("def test_it(assert_private): assert_private(coin, (0, 1), 1.0, rounds=500)", "--junit-xml=r.xml")
    written = (pytester.path / "r.xml").read_text()
    for name in ("finding", "epsilon_shown", "epsilon_detectable", "seed"):
        assert f'name="leakgauge_{name}"' in written


def test_the_plugin_is_in_the_wheel_and_light():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"leakgauge": "leakgauge.pytest_plugin"}
    code = (
        "import sys, leakgauge.pytest_plugin\n"
        "heavy = {'numpy', 'scipy', 'duckdb', 'altair', 'leakgauge.verdict'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


TOGETHER = 400  # tests that are played as one block


def randomized_response(value, rng):
    return value if rng.random() < 1 / (1 + np.exp(-1.0)) else 1 - value


def false_failures(n, rounds, confidence, seed):
    """How many of ``n`` tests fail of a mechanism with nothing to spare; the attack studies once for all."""
    promise = Guarantee(epsilon=1.0)
    audit = prepare_function_audit(randomized_response, (0, 1), promise, rounds, seed)
    prepared = PreparedAudit(audit.challenger, {"a": audit.knowledge}, {"a": audit.attack}, "")
    play_block, metrics = (
        study_attacks(prepared, seed, InProcessEngine()),
        MetricsTable(confidence=confidence),
    )
    found = 0
    for block in range(-(-n // TOGETHER)):
        (trials,) = dict(play_block(RoundBlock(block, range(min(n, TOGETHER) * rounds)))).values()
        tests = (trials.where(trials.rounds // rounds == one) for one in range(min(n, TOGETHER)))
        found += sum(decide_finding(one, promise, metrics, 1, None) is Finding.VIOLATED for one in tests)
    return found


@pytest.mark.parametrize(
    ("n", "confidence", "seed"),
    [
        (400, 0.9, 20261118),
        pytest.param(4_000, 0.99, 20261119, marks=pytest.mark.nightly),
        pytest.param(20_000, CONFIDENCE, 20261120, marks=pytest.mark.nightly),
    ],
)
def test_a_mechanism_with_nothing_to_spare_fails_as_rarely_as_stated(n, confidence, seed):
    expected = n * (1 - confidence)
    found = false_failures(n, 300, confidence, seed)
    assert found <= expected + 3 * np.sqrt(expected)
    if confidence < 0.95:
        assert found >= expected / 3  # the test has power: it does not pass because nothing ever fails


@pytest.mark.nightly
def test_whole_audits_of_it_fail_as_rarely_as_stated():
    findings = [
        audit_mechanism(
            randomized_response, (0, 1), epsilon=1.0, rounds=500, confidence=0.95, seed=7_000_000 + one
        ).finding
        for one in range(300)
    ]
    assert findings.count(Finding.VIOLATED) <= 15 + 3 * np.sqrt(15)


OPENDP = """
import opendp.prelude as dp
dp.enable_features("contrib")

def laplace(kind, scale, **domain):
    return dp.m.make_laplace(dp.atom_domain(T=kind, **domain), dp.absolute_distance(T=kind), scale=scale)

def test_whole_numbers(assert_private):
    noise = laplace(int, 1.0)
    assert_private(lambda count, rng: noise(count), (10, 11), epsilon=1.0)

def test_floats(assert_private):
    noise = laplace(float, 1.0, nan=False)
    assert_private(lambda count, rng: noise(count), (0.0, 1.0), epsilon=1.0)

def test_half_of_the_noise(assert_private):
    noise = laplace(int, 0.5)
    assert_private(lambda count, rng: noise(count), (10, 11), epsilon=1.0)
"""


@pytest.mark.parametrize(
    ("kind", "inputs"), others_at_night([(int, (10, 11)), (float, (0.0, 1.0))], (float, (0.0, 1.0)))
)
def test_opendp_keeps_its_promise_and_half_of_its_noise_does_not(kind, inputs, request):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.atom_domain(T=int) if kind is int else dp.atom_domain(T=float, nan=False)
    whole, half = (dp.m.make_laplace(domain, dp.absolute_distance(T=kind), scale=one) for one in (1.0, 0.5))
    assert_private = PrivacyAssertion(request.node, 800, 1.0, 1.0)
    assert_private(lambda count, rng: whole(count), inputs, epsilon=1.0)
    with pytest.raises(pytest.fail.Exception, match="breaks its promise of epsilon = 1"):
        assert_private(lambda count, rng: half(count), inputs, epsilon=1.0)


def test_seeds_do_not_depend_on_where_pytest_starts(pytester, monkeypatch):
    """Without a configuration file pytest names tests by the folder in which it was started."""
    code = """
class TestCoin:
    @pytest.mark.parametrize("value", [0, 1])
    def test_coin(self, assert_private, value):
        print("drawn", assert_private(coin, (value, 1 - value), 1.0, rounds=120).seed)
"""
    pytester.mkdir("inner").joinpath("test_noise.py").write_text(HEAD + code)
    result = run_inner_tests(pytester, monkeypatch, "-s", "inner")
    result.assert_outcomes(passed=2)
    seeds = [line.split()[-1] for line in result.outlines if "drawn" in line]
    assert seeds == [str(node_seed(f"test_noise.py::TestCoin::test_coin[{n}]", 0)) for n in (0, 1)]


@pytest.mark.nightly
def test_opendp_keeps_its_promise_in_all_rounds(run):
    pytest.importorskip("opendp")
    run(OPENDP).assert_outcomes(passed=2, failed=1)


DIFFPRIVLIB = """
import sys
import types

package = types.ModuleType("diffprivlib")  # its models need an older scikit-learn, its mechanisms do not
package.__path__ = [{folder!r}]
sys.modules["diffprivlib"] = package
from diffprivlib.mechanisms import Geometric, Laplace, Snapping

def test_float_laplace(assert_private):
    noise = Laplace(epsilon=1.0, sensitivity=1.0)
    assert_private(lambda value, rng: noise.randomise(value), (0.0, 1.0), epsilon=1.0)

def test_geometric(assert_private):
    noise = Geometric(epsilon=1.0, sensitivity=1)
    assert_private(lambda value, rng: noise.randomise(value), (10, 11), epsilon=1.0)

def test_snapping(assert_private):
    noise = Snapping(epsilon=1.0, sensitivity=1.0, lower=0.0, upper=20.0)
    assert_private(lambda value, rng: noise.randomise(value), (10.0, 11.0), epsilon=1.0)
"""


@pytest.mark.nightly
def test_the_float_laplace_of_diffprivlib_is_found(run, tmp_path):
    place = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place)]
    made = subprocess.run(
        [*command, "diffprivlib==0.6.6"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    if made.returncode:
        pytest.skip(f"diffprivlib cannot be installed here: {made.stderr.strip().splitlines()[-1]}")
    result = run(DIFFPRIVLIB.format(folder=str(place / "diffprivlib")))
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*test_float_laplace*", "*breaks its promise of epsilon = 1.*"])
