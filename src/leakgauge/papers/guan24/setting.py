"""Who plays in the games of Guan et al. (2024), and against which releases."""

from dataclasses import dataclass, replace

from leakgauge.pages.charts import paint
from leakgauge.papers.paper import Scale

GROUP = 1_000
THRESHOLDS = (0, 1, 2, 3, 4, 5)  # figure 7
EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0)  # figure 8
USER_DAY = "user-day"
TARGETS = {Scale.QUICK: 3, Scale.FULL: 50}
ROUNDS = {Scale.QUICK: 330, Scale.FULL: 1_000}  # one release serves all targets; the paper: 100 for each
LEAST_VISITS = 10  # of a target
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Player:
    """An attack with its knowledge, as a plan writes them, and how the page shows it."""

    label: str
    words: str
    attack: str
    knowledge: str
    colour: str
    options: str = ""  # further keys of the attack
    known: str = ""  # further keys of the knowledge

    @property
    def plan(self) -> str:
        """The line of a plan."""
        knowledge = ", ".join(filter(None, [f'name = "{self.knowledge}"', self.known]))
        options = f", {self.options}" if self.options else ""
        return (
            f'  {{ name = "{self.attack}", knowledge = {{ {knowledge} }}{options}, label = "{self.label}" }},'
        )

    def but(self, label: str, *, options: str = "", known: str = "", colour: str = "") -> "Player":
        """The same with something else besides."""
        more = ", ".join(filter(None, [self.options, options]))
        return replace(
            self,
            label=f"{self.label}-{label}",
            words=f"{self.words}, {label}",
            options=more,
            known=known or self.known,
            colour=colour or self.colour,
        )


KNOCK = Player(
    label="knock-knock",
    words="Knock-Knock",
    attack="shadow_logistic",
    knowledge="auxiliary",
    colour=paint.SERIES[0],
)
ZERO = Player(
    label="zero-knowledge",
    words="zero-knowledge",
    attack="shadow_logistic",
    knowledge="zero",
    colour=paint.SERIES[1],
    options='marginals = "guan24"',
)
ZERO_OURS = Player(
    label="zero-knowledge-deconvolution",
    words="zero-knowledge with deconvolution",
    attack="shadow_logistic",
    knowledge="zero",
    colour=paint.SERIES[5],
)
LIKELIHOOD = Player(
    label="likelihood-auxiliary",
    words="likelihood, auxiliary",
    attack="likelihood",
    knowledge="auxiliary",
    colour=paint.SERIES[2],
)
LIKELIHOOD_ZERO = Player(
    label="likelihood-zero",
    words="likelihood, zero",
    attack="likelihood",
    knowledge="zero",
    colour=paint.SERIES[3],
)
INFORMED = Player(
    label="likelihood-informed",
    words="likelihood, informed",
    attack="likelihood",
    knowledge="informed",
    colour=paint.SERIES[4],
)
PAPERS = (KNOCK, ZERO)
OURS = (LIKELIHOOD, LIKELIHOOD_ZERO, INFORMED)
ALL = (*PAPERS, *OURS)


@dataclass(frozen=True, kw_only=True)
class Release:
    """How counts are published: noise, rounding and clamping with it, suppression; and of how many people.

    Without ``epsilon`` there is no noise; without ``m`` the group is as large as is usual at a place.
    """

    k: int = 0
    epsilon: float | None = None
    unit: str = "event"
    m: int | None = None

    def played_as(self, per_day: int) -> "Release":
        """The release of figure 8 for a visit that has the very same noise, if there is one; else this one.

        Noise for a day of at most n visits is that for a visit with an n-th of the epsilon.
        """
        if self.epsilon is None or self.unit != USER_DAY or self.epsilon / per_day not in EPSILONS:
            return self
        return replace(self, epsilon=self.epsilon / per_day, unit="event")

    @property
    def name(self) -> str:
        """As part of the name of an audit."""
        noise = [] if self.epsilon is None else [f"{self.unit}={self.epsilon:g}"]
        size = [] if self.m is None else [f"m={self.m}"]
        return ",".join([*noise, f"k={self.k}", *size])

    @property
    def words(self) -> str:
        """On the page."""
        noise = [] if self.epsilon is None else [f"{self.unit} ε = {self.epsilon:g}"]
        suppressed = [f"k = {self.k}"] if self.k or not noise else []
        size = [] if self.m is None else [f"m = {self.m:,}"]
        return ", ".join([*noise, *suppressed, *size])

    @property
    def plan(self) -> str:
        """The mechanism of a plan."""
        if self.epsilon is None:
            return f'{{ name = "raw", suppress = {self.k} }}'
        noise = f'name = "laplace", epsilon = {self.epsilon}, unit = "{self.unit}"'
        return f"{{ {noise}, round = true, clamp = true, suppress = {self.k} }}"
