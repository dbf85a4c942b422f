"""What a domain declares about itself: one value, ``DOMAIN``, in its package.

Everything outside ``leakgauge.domains`` reaches a domain through this value only. Heavy modules stay unloaded
until they are needed: a ``Place`` is the text ``"module:name"``, imported from the domain's package on use.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from leakgauge.core.exposure import Exposure
from leakgauge.core.game import Attack, Challenger, Knowledge

Place: TypeAlias = str  # "module:name", relative to the package of the domain
ABSENT = object()  # the value of a key that a plan leaves out


@dataclass(frozen=True, kw_only=True)
class Term:
    """How a metric, attack, knowledge or number is shown to people.

    ``title`` is a few words for the head of a table; ``meaning`` explains it in one sentence or clause,
    without a full stop at its end.
    """

    title: str
    meaning: str = ""
    is_share: bool = False  # written as a percentage
    bound: Literal["", "lower", "upper"] = ""  # a bound: rounded to the safe side, shown with ≥ or ≤
    sentence: str = (
        ""  # for the terminal, with a place for {value}, and one for {event} if the report has it too
    )
    sentence_above: float = 0.0  # the sentence is printed for larger values only
    lower_is_better: bool = False  # of a number that says how useful a release is
    is_count: bool = False  # a whole number


@dataclass(frozen=True, kw_only=True)
class RoundTerm:
    """What a round of the game is called in sentences of reports and of the terminal.

    ``noun`` and ``short`` are in the singular, and get an s in the plural.
    """

    noun: str = "simulated release"
    short: str = "release"  # where the noun was used before
    meaning: str = "One release with fresh noise, also called a round"
    more: str = "Simulate more releases"  # advice, before a colon
    game: str = (
        "Each attacker sees many simulated releases, half of them made with a target and half without, and "
        "says in which the target was."
    )


@dataclass(frozen=True, kw_only=True)
class ExposureSpec:
    """How a domain computes the exposure of everybody; its function calls ``begin`` at each of the steps.

    As ``Domain.exposure`` the function has the signature ``(challenger, *, begin) -> Exposure``; as
    ``Domain.log_exposure`` it is ``(log, *, contains, data, id_column, delta, begin) -> Exposure``.
    """

    function: Place
    steps: tuple[str, ...]
    part: str  # what epsilon is spent on, of which a person or record has many: a cell, an answer
    attackers: tuple[str, ...] = ()  # whose numbers are computed without any simulation, the strongest first
    computed: Place | None = None
    """(challenger, attackers, *, everyone) -> one AdversaryExposure for each of these attackers: about the
    targets, or about everyone. Nothing where it takes simulated releases or trained models."""
    advice: str = "Run leakgauge expose on this plan to count the people who can be recognised."


@dataclass(frozen=True, kw_only=True)
class ServerSpec:
    """How a domain serves the release of an audit over HTTP, on this machine.

    ``function`` is ``(challenger, *, port, announce) -> None``: it calls ``announce(url, new_token)`` once it
    listens, with a token that it generated or nothing, and returns when it is stopped.
    """

    function: Place
    check_libraries: Place  # () -> None; refuses where the libraries for it are missing
    omitted_keys: tuple[str, ...] = ()  # of the challenger's table: they would question another service


@dataclass(frozen=True, kw_only=True)
class Tunable:
    """A key of a plan whose value trades risk against utility, for ``leakgauge tune``.

    Either a range of numbers, or a list of values that begins with the most useful one. A list may depend on
    the value in the plan: then ``steps`` is the place of a function from that value to the list.
    """

    key: str  # with its table: "mechanism.epsilon"
    title: str  # what it is called in a sentence
    safer: Literal["smaller", "larger", "later"] = "smaller"  # "later": towards the end of the list
    low: float | None = None
    high: float | None = None
    values: tuple[Any, ...] = ()
    steps: Place | None = None
    absent: Any = None  # the value where the plan leaves the key out; nothing: it has to be in the plan
    by_default: bool = True
    if_useless: bool = False
    """Whether it is varied by default too, where no setting under the limit is useful with its own value."""
    fixed_by: tuple[str, ...] = ()
    """Keys, or "key=value", with which a plan has a release of its own that does not use this one."""
    obstacles: Mapping[str, str] = field(default_factory=dict)
    """By "key=value": why a plan with this value has nothing to vary, and what to write instead."""
    compare_by: str = ""
    """The number on utility by which settings are compared if this key is varied; the main one if empty."""

    @property
    def is_range(self) -> bool:
        """Whether any number between two ends may be chosen."""
        return self.low is not None

    def value_in(self, tables: Mapping[str, Any]) -> Any:
        """The value in the tables of an audit, or that which holds where they leave it out; else `ABSENT`."""
        found = _lookup(tables, self.key)
        return self.absent if found is ABSENT and self.absent is not None else found

    def obstacle(self, tables: Mapping[str, Any]) -> str | None:
        """Why this key has no effect in an audit with these tables; nothing where it has one."""
        if (reason := self._fixed(tables) or self.stated_obstacle(tables)) is not None:
            return reason
        if self.value_in(tables) is ABSENT:
            table, _, key = self.key.partition(".")
            return f"the plan does not set it; add {key} to the table {table}"
        return None

    def stated_obstacle(self, tables: Mapping[str, Any]) -> str | None:
        """What `obstacles` says of these tables; nothing where the plan decides the noise by itself."""
        if self._fixed(tables) is not None:
            return None
        found = (reason for rule, reason in self.obstacles.items() if _holds(tables, rule))
        return next(found, None)

    def _fixed(self, tables: Mapping[str, Any]) -> str | None:
        """That a key of `fixed_by` decides the noise, if one does."""
        for rule in self.fixed_by:
            if _holds(tables, rule):
                key, _, value = rule.partition("=")
                return (
                    f"the plan has {key}{f' = {value}' if value else ''}, which decides the noise by itself"
                )
        return None


def _holds(tables: Mapping[str, Any], rule: str) -> bool:
    """Whether tables have a key, or for "key=value" this value of it."""
    key, _, value = rule.partition("=")
    found = _lookup(tables, key)
    return found is not ABSENT and (not value or found == value)


def _lookup(tables: Mapping[str, Any], key: str) -> Any:
    found: Any = tables
    for part in key.split("."):
        found = found.get(part, ABSENT) if isinstance(found, Mapping) else ABSENT
    return found


@dataclass(frozen=True, kw_only=True)
class FunctionAudit:
    """The audit of a Python function: a challenger, an attack and its knowledge, with their names."""

    challenger: Challenger[Any]
    attack_name: str
    attack: Attack[Any, Any]
    attack_parameters: dict[str, Any]
    knowledge_name: str
    knowledge: Knowledge[Any, Any]


@dataclass(frozen=True, kw_only=True)
class FrameAudit:
    """The audit of a data frame in memory: the frame, and the tables of a plan about it.

    Where the data are a file, ``data`` names it as ``source`` and there is no frame.
    """

    frame: Any
    data: dict[str, Any]
    challenger: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Domain:
    """A kind of release: what it is made of, and the words for what the report shows of it."""

    package: str  # always __name__ of the package that declares it
    default_attacks: tuple[dict[str, Any] | str, ...]  # of a plan that names none, as a plan would write them

    default_attacks_with: Mapping[str, tuple[dict[str, Any] | str, ...]] = field(default_factory=dict)
    """The same for plans whose challenger's table has a key that calls for other attacks."""

    challenger: Place = "challenger:build"  # (*, data, challenger, mechanism, folder, seed) -> Challenger
    complete_challenger: Place | None = None
    """(challenger, attackers) -> challenger: adds to the table of a plan what depends on the attacks."""
    knowledge: Place = "knowledge:build"  # (name, parameters, challenger, seed) -> Knowledge
    knowledge_terms: Mapping[str, Term]  # all the names
    controls: tuple[str, ...] = ()  # names of knowledge without any view of the release
    mechanisms: Mapping[str, str | None] | Place | None = None
    """Names that a plan may give, with one line each (none: that of the file in ``leakgauge.mechanisms``), or
    the place of a function that returns them; nothing where every mechanism is accepted."""
    plan_choices: Mapping[str, str] = field(default_factory=dict)
    """Other things that a plan selects by name, such as "trainers": the package of each below this one, with
    one file for each name."""

    private_keys: tuple[str, ...] = ()  # of a challenger's table: values that a report must not show
    masked_keys: Mapping[str, Place] = field(default_factory=dict)  # shown in part, by a function of the text
    private_knowledge_keys: tuple[str, ...] = ()  # lists under them are not shown

    exposure: ExposureSpec | None = None  # of everybody in the data of a plan
    log_exposure: ExposureSpec | None = None  # of every record by a log of answers
    function_audit: Place | None = None  # (release, pair, guarantee, rounds, seed) -> FunctionAudit
    model_audit: Place | None = None
    """(model, members, others, *, reference, train, shadows, names, groups, seed, options) -> the challenger
    of a finished model, and its default attacks; the challenger has ``with_exposure(targets, shadows)``."""
    count_audit: Place | None = None
    """(visits, *, columns, data, challenger) -> FrameAudit: for counts of people in a data frame."""
    query_audit: Place | None = None
    """(records, *, service, data, challenger) -> FrameAudit: for a service that answers about a frame."""
    announces_cost: Place | None = None
    """(challenger table) -> bool: whether a run says what it will cost before it starts, because code of the
    user may take long; nothing where none does."""
    training_audit: Place | None = None  # (train, table of the challenger) -> FunctionAudit
    conformance: Place | None = None
    """(transcripts, *, challenger, mechanism, folder) -> Conformance: compares what one attacker was given in
    all blocks with what the tables of the plan state, without the data."""
    server: ServerSpec | None = None  # that answers as the release of a plan does
    plan_forms: Place | None = None  # () -> PlanForms: which dataclasses check the tables of a plan
    drafts: Place | None = None  # () -> what a plan can be drafted for: DraftKind by name

    tunable: tuple[Tunable, ...] = ()  # what may be varied to find a release under a limit
    lower_risk: str = ""  # a sentence on what to change in a plan so that people are harder to identify
    lower_risk_of_plan: Place | None = None
    """(tables of the plan) -> str: the same, where it depends on what the plan has already."""
    conformance_advice: Mapping[str, str] = field(default_factory=dict)
    """What to fix where a test of ``conformance`` rejects, by the name of the test; others need no advice."""
    clue_advice: Mapping[str, str] = field(default_factory=dict)
    """What to fix where an attack that breaks the promise uses a clue with a known cause, by its name."""
    round_term: RoundTerm = RoundTerm()
    round_term_of_plan: Place | None = None
    """(tables of the plan) -> RoundTerm: the same, where it depends on the plan."""
    attack_terms: Mapping[str, Term] = field(default_factory=dict)  # default: first line of its file
    studied: Mapping[str, Term] = field(default_factory=dict)  # numbers of ``Reading.studied``, in order
    utility: Mapping[str, Term] = field(default_factory=dict)  # numbers of a challenger, in order
    main_utility: tuple[str, ...] = ()  # the first of them that is known places a release on a chart
    useful_if_below: tuple[str, str] | None = None
    """Of these numbers on utility, a release is of use where the first is not above the second."""
    spending: Mapping[str, Term] = field(default_factory=dict)  # columns of ``MeteredKnowledge.spent``
    spending_note: str = ""  # a paragraph of the report on what these columns are
    spending_check: tuple[str, str] | None = None  # of these columns, the first must not exceed the second
    spending_beside: tuple[str, ...] = ()  # columns that are shown with these two wherever there are numbers

    @property
    def name(self) -> str:
        """The name in plans, the command line and the report."""
        return self.package.rpartition(".")[2]

    def is_useful(self, utility: Mapping[str, float] | None) -> bool:
        """Whether a release with these numbers on utility is of use, as far as they tell."""
        error, largest = ((utility or {}).get(name) for name in self.useful_if_below or ("", ""))
        return error is None or largest is None or error <= largest

    @property
    def attacks_package(self) -> str:
        return f"{self.package}.attacks"

    def attacks_by_default(self, challenger: Mapping[str, Any]) -> tuple[dict[str, Any] | str, ...]:
        """The attacks of a plan that names none, for a challenger's table."""
        return next(
            (attacks for key, attacks in self.default_attacks_with.items() if key in challenger),
            self.default_attacks,
        )

    def load(self, place: Place) -> Any:
        """Import what a place of this domain names."""
        module, _, name = place.partition(":")
        return vars(import_module(f"{self.package}.{module}"))[name]

    def build_challenger(
        self,
        *,
        data: dict[str, Any],
        challenger: dict[str, Any],
        mechanism: dict[str, Any],
        folder: Path,
        seed: int,
        attackers: Sequence[Any] = (),
    ) -> Challenger[Any]:
        """Load the data of an audit and build its challenger from the tables of a plan.

        ``attackers`` are those that will play against it, as the plan names them.
        """
        build = self.load(self.challenger)
        if self.complete_challenger is not None:
            challenger = self.load(self.complete_challenger)(challenger, attackers)
        return build(data=data, challenger=challenger, mechanism=mechanism, folder=folder, seed=seed)

    def build_knowledge(
        self, name: str, parameters: dict[str, Any], challenger: Challenger[Any], seed: int
    ) -> Knowledge[Any, Any]:
        """Give an attacker what it may know of a challenger."""
        return self.load(self.knowledge)(name, parameters, challenger, seed)

    def can_tune(self, tables: Mapping[str, Any]) -> bool:
        """Whether ``leakgauge tune`` finds something to vary in an audit with these tables by itself."""
        return any(one.by_default and one.obstacle(tables) is None for one in self.tunable)

    def risk_advice(self, tables: Mapping[str, Any]) -> str:
        """What to change in an audit with these tables so that people are harder to identify."""
        place = self.lower_risk_of_plan
        return self.lower_risk if place is None else str(self.load(place)(tables))

    def round_term_of(self, tables: Mapping[str, Any]) -> RoundTerm:
        """What a round of an audit with these tables is called."""
        place = self.round_term_of_plan
        if place is None:
            return self.round_term
        term: RoundTerm = self.load(place)(tables)
        return term

    def mechanism_lines(self) -> Mapping[str, str | None] | None:
        """The mechanisms that a plan may name, with one line each; nothing where every one is accepted."""
        return self.load(self.mechanisms)() if isinstance(self.mechanisms, str) else self.mechanisms

    def exposure_function(self, spec: ExposureSpec, begin: Callable[[str], None]) -> Callable[..., Exposure]:
        """Load the function that computes an exposure; ``begin`` is told of every step."""
        return partial(self.load(spec.function), begin=begin)
