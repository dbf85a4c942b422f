"""A plugin of pytest: the fixture ``assert_private`` tests whether a mechanism keeps its promise.

Pytest imports this file at every start, so it imports nothing heavy before a test asks for the fixture.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from leakgauge.verdict import Verdict

ROUNDS = 20_000
CONFIDENCE = 0.999  # at most one false failure in 1,000 tests of a mechanism that has nothing to spare
MARKER = "leakgauge"
SCALE_OPTION, SCALE_INI = "--leakgauge-scale", "leakgauge_scale"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting that scale the rounds of all tests."""
    about = "multiply the rounds of every assert_private by this number, such as 0.1 for a quick look"
    parser.getgroup("leakgauge").addoption(SCALE_OPTION, metavar="FACTOR", default=None, help=about)
    parser.addini(SCALE_INI, about, default="1")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(rounds=N, scale=X): releases that assert_private counts in a test, and a factor for them",
    )


@pytest.fixture
def assert_private(request: pytest.FixtureRequest) -> "PrivacyAssertion":
    """A function `assert_private(release, pair_or_pairs, epsilon, delta=0)`; it fails on a broken promise."""
    return PrivacyAssertion(request.node, *_marked(request.node), _scale(request.config))


@dataclass(frozen=True, eq=False)
class PrivacyAssertion:
    """Tests mechanisms within one test; the seed follows from the name of the test.

    Attributes:
        node: The test.
        marked_rounds: The rounds that its marker states, if it does.
        marked_scale: The factor that its marker states, or 1.
        scale: The factor for all tests, from the command line or the settings.
    """

    node: Any
    marked_rounds: int | None
    marked_scale: float
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "_calls", count())

    def __call__(
        self,
        release: Callable[..., Any],
        pair_or_pairs: tuple[Any, Any] | Sequence[tuple[Any, Any]],
        epsilon: float,
        delta: float = 0.0,
        *,
        rounds: int | None = None,
        confidence: float = CONFIDENCE,
        seed: int | None = None,
        workers: int = 1,
    ) -> "Verdict":
        """Fail unless the outputs of a mechanism agree with its promise; return the verdict.

        Args:
            release: The mechanism: a function `release(dataset, rng)` that draws all noise from `rng`. One
                that has a generator of its own may ignore `rng`; its test then differs from run to run.
            pair_or_pairs: Two neighbouring inputs as a tuple, or a list of such tuples.
            epsilon: The promised epsilon.
            delta: The promised delta.
            rounds: How many releases are counted for each pair; that of the marker, or 20,000, unless given.
            confidence: One minus the share of tests that may fail although the promise is kept.
            seed: The seed; derived from the name of the test unless given.
            workers: How many processes call `release` at the same time.
        """
        __tracebackhide__ = True
        from leakgauge.core.errors import BadInput

        number = next(vars(self)["_calls"])
        planned = self._rounds(rounds)
        settings = {"epsilon": epsilon, "delta": delta, "confidence": confidence}
        try:
            self._require_enough(planned, pair_or_pairs, settings)
            found = _audit(
                release,
                pair_or_pairs,
                rounds=planned,
                seed=node_seed(_test_name(self.node), number) if seed is None else seed,
                workers=workers,
                **settings,
            )
        except BadInput as error:
            raise pytest.UsageError(f"assert_private: {error}") from None
        self._record(found)
        _fail_unless_kept(found, epsilon, delta)
        return found

    def _rounds(self, given: int | None) -> int:
        stated = given if given is not None else self.marked_rounds
        return max(1, round((ROUNDS if stated is None else stated) * self.marked_scale * self.scale))

    def _require_enough(self, planned: int, pairs: Any, settings: dict[str, Any]) -> None:
        """Refuse too few rounds before the first one: nothing could fail the test."""
        __tracebackhide__ = True
        from leakgauge.runner.in_memory import rounds_to_decide

        needed = rounds_to_decide(pairs, **settings)
        promise = f"epsilon = {settings['epsilon']:g}, delta = {settings['delta']:g}"
        if needed is None:
            raise pytest.UsageError(
                f"assert_private: {promise} is too weak a promise to test: no number of rounds could show "
                "that it is broken"
            )
        if planned < needed:
            raise pytest.UsageError(
                f"assert_private: {planned:,} rounds are too few for {promise}: a leak as large as that "
                f"would not be noticed; at least {needed:,} are needed (rounds, the marker {MARKER}, or "
                f"{SCALE_OPTION})"
            )

    def _record(self, found: "Verdict") -> None:
        """Note in reports, such as that of --junit-xml, what was tested and what it could have found."""
        planted = found.instrument["planted"] or {}
        self.node.user_properties += [
            ("leakgauge_finding", str(found.finding)),
            ("leakgauge_epsilon_shown", found.metrics["epsilon"].low),
            ("leakgauge_epsilon_detectable", planted.get("violating_epsilon")),
            ("leakgauge_seed", found.seed),
        ]


def node_seed(node: str, number: int) -> int:
    """The seed of a call within a test: the same in every process and on every machine.

    >>> node_seed("test_noise.py::test_laplace", 0)
    4238743517900595180
    """
    digest = sha256(f"{number} {node}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _test_name(node: pytest.Item) -> str:
    """The file without its folders, class, name and parameters of a test.

    The name that pytest gives a test begins with folders that depend on where pytest was started.
    """
    above = [one.name for one in node.listchain() if isinstance(one, pytest.Class)]
    return "::".join([node.path.name, *above, node.name])


def _audit(release: Callable[..., Any], pair: Any, **settings: Any) -> "Verdict":
    from leakgauge.runner.in_memory import audit_mechanism

    return audit_mechanism(release, pair, **settings)


def _fail_unless_kept(found: "Verdict", epsilon: float, delta: float) -> None:
    __tracebackhide__ = True
    from leakgauge.verdict import Finding

    if found.finding is Finding.NOT_VIOLATED:
        return
    if found.finding is Finding.VIOLATED:
        pytest.fail(violation_text(found, epsilon, delta), pytrace=False)
    if found.finding is Finding.UNTESTABLE:
        why = (
            found.withdrawn
            or "; ".join(found.notes)
            or "it recognised nobody even where nothing protects them"
        )
        pytest.fail(f"assert_private: {found.audit} could not be tested: {why}", pytrace=False)
    needed = "more" if found.rounds_needed is None else f"{found.rounds_needed:,}"
    raise pytest.UsageError(
        f"assert_private: {found.rounds:,} rounds are too few for this test; {needed} are needed"
    )


def violation_text(found: "Verdict", epsilon: float, delta: float) -> str:
    """What was promised, what was shown and by what, and how to see it again."""
    shown, which = found.metrics["epsilon"], found.parameters["challenger"].get("pair")
    promised = f"epsilon = {epsilon:g}" + (f", delta = {delta:g}" if delta else "")
    lines = [f"{found.audit} breaks its promise of {promised}."]
    if shown.low is not None:
        lines.append(
            f"Its outputs show an epsilon of at least {shown.low:.3g}, at a confidence of "
            f"{shown.confidence:.6g}, in {found.rounds:,} rounds."
        )
    if which is not None:
        lines.append(f"Shown by pair {which} of the list, counted from 0.")
    if found.event:
        lines.append(f"What distinguishes the two inputs: {found.event}.")
    lines += found.evidence
    return "\n".join([*lines, f"Seed: {found.seed}."])


def _marked(node: Any) -> tuple[int | None, float]:
    marker = node.get_closest_marker(MARKER)
    if marker is None:
        return None, 1.0
    if marker.args or not set(marker.kwargs) <= {"rounds", "scale"}:
        raise pytest.UsageError(f"@pytest.mark.{MARKER} takes rounds=... and scale=... only")
    rounds = marker.kwargs.get("rounds")
    if rounds is not None and (not isinstance(rounds, int) or isinstance(rounds, bool) or rounds < 1):
        raise pytest.UsageError(f"@pytest.mark.{MARKER}: rounds must be a whole number >= 1, got {rounds!r}")
    return rounds, _factor(marker.kwargs.get("scale", 1.0), f"@pytest.mark.{MARKER}: scale")


def _scale(config: pytest.Config) -> float:
    given = config.getoption(SCALE_OPTION)
    return _factor(given, SCALE_OPTION) if given is not None else _factor(config.getini(SCALE_INI), SCALE_INI)


def _factor(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < float("inf"):
        raise pytest.UsageError(f"{where}: must be a number > 0, got {value!r}")
    return number
