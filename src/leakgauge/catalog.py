"""Find an implementation by the name of its file, and prepare an audit from the tables of a plan."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Protocol

from leakgauge.core.domain import Domain, ExposureSpec, FrameAudit, FunctionAudit, Place, Term
from leakgauge.core.errors import BadInput
from leakgauge.support.examples import example_lines
from leakgauge.support.table_reader import read_dataclass, require_known

if TYPE_CHECKING:
    from leakgauge.core.game import Attack, Challenger, Knowledge, Transcript
    from leakgauge.referee.conformance import Conformance
    from leakgauge.referee.metric_protocol import MetricDescription
    from leakgauge.support.plan_draft import DraftKind

DOMAINS = "leakgauge.domains"
MECHANISMS = "leakgauge.mechanisms"
METRICS = "leakgauge.referee.metrics"


class ContenderLike(Protocol):
    """The part of a plan's contender that is used here."""

    @property
    def attack(self) -> str: ...
    @property
    def knowledge(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def attack_parameters(self) -> dict[str, Any]: ...
    @property
    def knowledge_parameters(self) -> dict[str, Any]: ...


class AuditLike(Protocol):
    """The part of a plan's audit that is used here."""

    @property
    def name(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def data(self) -> dict[str, Any]: ...
    @property
    def challenger(self) -> dict[str, Any]: ...
    @property
    def mechanism(self) -> dict[str, Any]: ...
    @property
    def contenders(self) -> Sequence[ContenderLike]: ...


class PlanLike(Protocol):
    """The part of a plan that is used here, besides its audits."""

    @property
    def seed(self) -> int: ...
    @property
    def folder(self) -> Path: ...
    @property
    def path(self) -> Path | None: ...


@dataclass(frozen=True, eq=False)
class PreparedAudit:
    """A challenger, and by label the knowledge and the attack of each contender, before any study."""

    challenger: "Challenger[Any]"
    knowledges: "Mapping[str, Knowledge[Any, Any]]"
    attacks: "Mapping[str, Attack[Any, Any]]"
    digest: str  # of the data behind the challenger, and of attacks of the user's own


def module_names(package: str) -> list[str]:
    """Name the implementations in a package."""
    return list(_listed(tuple((folder, _changed(folder)) for folder in import_module(package).__path__)))


@lru_cache(maxsize=256)
def _listed(folders: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """The modules in folders as they were when last changed; a plan with many attacks asks very often."""
    modules = iter_modules([folder for folder, _ in folders])
    return tuple(sorted(module.name for module in modules if not module.name.startswith("_")))


def _changed(folder: str) -> int:
    path = Path(folder)
    return path.stat().st_mtime_ns if path.exists() else 0


def domain_names() -> list[str]:
    """Name the kinds of release."""
    return module_names(DOMAINS)


def get_domain(name: str) -> Domain:
    """Return what a domain declares about itself."""
    require_known(name, domain_names(), "no domain")
    return import_module(f"{DOMAINS}.{name}").DOMAIN


def find_domain(name: str) -> Domain | None:
    """Return a domain, or nothing where a verdict is about none, such as scores from elsewhere.

    The folder of domains is not listed: verdicts and reports ask for their domain again and again.
    """
    if not name.isidentifier() or name.startswith("_") or find_spec(f"{DOMAINS}.{name}") is None:
        return None
    return import_module(f"{DOMAINS}.{name}").DOMAIN


def all_domains() -> list[Domain]:
    """Return every domain; none of their heavy modules is loaded."""
    return [get_domain(name) for name in domain_names()]


def compare_transcripts(
    audit: "AuditLike", transcripts: "Sequence[Transcript]", folder: Path
) -> "Conformance | None":
    """Compare the transcripts of one attacker with what a plan states; nothing where none were kept."""
    domain = get_domain(audit.domain)
    if domain.conformance is None or not transcripts:
        return None
    compare = domain.load(domain.conformance)
    return compare(transcripts, challenger=audit.challenger, mechanism=audit.mechanism, folder=folder)


def domain_with_log_exposure() -> tuple[Domain, ExposureSpec]:
    """Return the domain that can read a log of answers, and how it computes the exposure of its records."""
    for domain in all_domains():
        if domain.log_exposure is not None:
            return domain, domain.log_exposure
    raise BadInput("no domain here can read a log of answers")


def domain_with_function_audit() -> tuple[Domain, Callable[..., FunctionAudit]]:
    """Return the domain that can audit a Python function, and what sets up such an audit."""
    return _domain_with(lambda domain: domain.function_audit, "a function")


def domain_with_model_audit() -> tuple[Domain, Callable[..., Any]]:
    """Return the domain that can audit a finished model, and what sets up such an audit."""
    return _domain_with(lambda domain: domain.model_audit, "a finished model")


def domain_with_training_audit() -> tuple[Domain, Callable[..., FunctionAudit]]:
    """Return the domain that can audit a training, given as a function, and what sets up such an audit."""
    return _domain_with(lambda domain: domain.training_audit, "a training")


def domain_with_count_audit() -> tuple[Domain, Callable[..., FrameAudit]]:
    """Return the domain that can audit counts of people in a data frame, and what sets up such an audit."""
    return _domain_with(lambda domain: domain.count_audit, "counts of a data frame")


def domain_with_query_audit() -> tuple[Domain, Callable[..., FrameAudit]]:
    """Return the domain that can audit answers about a data frame, and what sets up such an audit."""
    return _domain_with(lambda domain: domain.query_audit, "answers about a data frame")


def _domain_with(place_of: Callable[[Domain], Place | None], what: str) -> tuple[Domain, Callable[..., Any]]:
    for domain in all_domains():
        if (place := place_of(domain)) is not None:
            return domain, domain.load(place)
    raise BadInput(f"no domain here can audit {what}")


def announces_cost(audit: "AuditLike") -> bool:
    """Whether a run of this audit says what it will cost before it starts."""
    domain = get_domain(audit.domain)
    return domain.announces_cost is not None and bool(domain.load(domain.announces_cost)(audit.challenger))


def draft_kinds() -> "dict[str, tuple[Domain, DraftKind]]":
    """Return all kinds of files and things that a plan can be drafted for, each with its domain, by name."""
    return {
        name: (domain, kind)
        for domain in all_domains()
        if domain.drafts is not None
        for name, kind in domain.load(domain.drafts)().items()
    }


def attacks_package(domain: str) -> str:
    """Return the package of a domain's attacks."""
    return f"{DOMAINS}.{domain}.attacks"


def is_built_in(domain: str, attack: str) -> bool:
    """Whether an attack is one of leakgauge's own, so that the sign of its scores is known to be right."""
    declaring = find_domain(domain)
    return declaring is not None and attack in module_names(declaring.attacks_package)


def attack_term(domain: str, attack: str) -> Term:
    """Return the words for an attack: those that its domain declares, or the first line of its file."""
    if (declaring := find_domain(domain)) is None or not is_built_in(domain, attack):
        return Term(title=attack)
    declared = declaring.attack_terms.get(attack)
    return declared or Term(
        title=_first_line(import_module(f"{declaring.attacks_package}.{attack}")).rstrip(".")
    )


def knowledge_term(domain: str, knowledge: str) -> Term:
    """Return the words for what an attacker knows; an unknown name stands for itself."""
    declaring = find_domain(domain)
    return (declaring.knowledge_terms.get(knowledge) if declaring else None) or Term(title=knowledge)


def redacted_challenger(domain: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a challenger's table as a report may show it: without values from the data."""
    about = get_domain(domain)

    def show(key: str, value: Any) -> Any:
        if key in about.masked_keys and isinstance(value, str):
            return about.load(about.masked_keys[key])(value)
        if key in about.private_keys and not isinstance(value, str):
            return "(not shown)"
        return {k: show(k, v) for k, v in value.items()} if isinstance(value, Mapping) else value

    return {key: show(key, value) for key, value in table.items()}


def redacted_knowledge(domain: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of an attacker's knowledge as a report may show it: without values from the data."""
    about = get_domain(domain)

    def show(key: str, value: Any) -> Any:
        if key in about.masked_keys and isinstance(value, str):
            return about.load(about.masked_keys[key])(value)
        hidden = key in about.private_knowledge_keys and isinstance(value, list | tuple)
        return "(not shown)" if hidden else value

    return {key: show(key, value) for key, value in table.items()}


def accepted_knowledge(domain: str, attack: str) -> tuple[str, ...]:
    """Name the knowledge that an attack can use; the first is what it gets unless the plan says otherwise."""
    return import_module(f"{attacks_package(domain)}.{attack}").Attack.accepts


def refuse_knowledge(domain: str, attack: str, knowledge: str, folder: Path = Path()) -> None:
    """Refuse knowledge that an attack cannot use."""
    from leakgauge.support.user_attack import is_user_attack

    if is_user_attack(attack):
        accepts = _load_user_attack(domain, attack, folder)[0].accepts
    else:
        accepts = accepted_knowledge(domain, attack)
    if knowledge not in accepts:
        raise BadInput(
            f"{attack} cannot use knowledge {knowledge!r}; it needs {' or '.join(map(repr, accepts))}"
        )


def build(package: str, role: str, name: str, parameters: Mapping[str, Any], where: str = "") -> Any:
    """Build the ``role`` (Attack, Mechanism, Metric) that the module ``name`` defines.

    >>> build("leakgauge.mechanisms", "Mechanism", "laplace", {"epsilon": 1}).epsilon
    1.0
    """
    kind, start = role.lower(), f"{where}: " if where else ""
    require_known(name, module_names(package), f"{start}no {kind}")
    return read_dataclass(
        getattr(import_module(f"{package}.{name}"), role), parameters, f"{start}{kind} {name!r}"
    )


def _load_user_attack(domain: str, attack: str, folder: Path) -> tuple[Any, str]:
    from leakgauge.support.user_attack import load_user_attack

    return load_user_attack(attack, list(get_domain(domain).knowledge_terms), folder)


def prepare_audit(audit: AuditLike, plan: PlanLike) -> PreparedAudit:
    """Prepare an audit: load its data, build challenger, knowledge and attacks."""
    with audit_error_context(audit, plan):
        for contender in audit.contenders:
            refuse_knowledge(audit.domain, contender.attack, contender.knowledge, plan.folder)
        challenger = build_challenger(audit, plan, audit.contenders)
        return prepare_contenders(audit.domain, challenger, audit.contenders, plan.seed, plan.folder)


def prepare_contenders(
    domain: str,
    challenger: "Challenger[Any]",
    contenders: Sequence[ContenderLike],
    seed: int,
    folder: Path = Path(),
) -> PreparedAudit:
    """Build what contenders know of a challenger, and their attacks; ``folder`` holds those of the user."""
    build_knowledge = get_domain(domain).build_knowledge
    knowledges = {
        contender.label: build_knowledge(
            contender.knowledge, contender.knowledge_parameters, challenger, seed
        )
        for contender in contenders
    }
    from leakgauge.support.user_attack import build_user_attack, is_user_attack

    attacks: dict[str, Any] = {}
    for contender in contenders:
        name, parameters = contender.attack, contender.attack_parameters
        if is_user_attack(name):
            kind, _ = _load_user_attack(domain, name, folder)
            attacks[contender.label] = build_user_attack(kind, name, parameters)
        else:
            attacks[contender.label] = build(attacks_package(domain), "Attack", name, parameters)
    return PreparedAudit(
        challenger, knowledges, attacks, audit_digest(domain, challenger, contenders, folder)
    )


def audit_digest(
    domain: str, challenger: "Challenger[Any]", contenders: Sequence[ContenderLike], folder: Path
) -> str:
    """Return a digest of the data and settings of an audit, and of the attacks of the user's own."""
    from leakgauge.support.user_attack import is_user_attack

    digest = challenger.digest
    for contender in contenders:
        if is_user_attack(contender.attack):
            _, code = _load_user_attack(domain, contender.attack, folder)
            digest = sha256(f"{digest} {code}".encode()).hexdigest()
    return digest


def build_challenger(
    audit: AuditLike, plan: PlanLike, attackers: Sequence[ContenderLike] = ()
) -> "Challenger[Any]":
    """Load the data of an audit and build its challenger, for these attackers."""
    return get_domain(audit.domain).build_challenger(
        data=audit.data,
        challenger=audit.challenger,
        mechanism=audit.mechanism,
        folder=plan.folder,
        seed=plan.seed,
        attackers=attackers,
    )


@cache
def metric_descriptions() -> "Mapping[str, MetricDescription]":
    """Return what metrics say about themselves, by their names in verdicts, in the order of tables.

    >>> metric_descriptions()["auc"].title, next(iter(metric_descriptions()))
    ('AUC', 'epsilon')
    """
    from leakgauge.referee.metric_evaluation import all_rate_metrics
    from leakgauge.referee.metrics import epsilon_clopper_pearson

    # All bounds on epsilon describe themselves alike; this one needs the fewest other modules.
    descriptions: dict[str, MetricDescription] = {"epsilon": epsilon_clopper_pearson.Metric()}
    descriptions |= {name: metric() for name, metric in all_rate_metrics().items()}
    return dict(sorted(descriptions.items(), key=lambda entry: entry[1].rank))


@contextmanager
def audit_error_context(audit: AuditLike, plan: PlanLike) -> Iterator[None]:
    """Let messages about bad input begin with the file of the plan and the name of the audit."""
    try:
        yield
    except BadInput as error:
        file = f"{plan.path}: " if plan.path else ""
        raise BadInput(f"{file}audit {audit.name!r}: {error}") from None
    except MemoryError:
        file = f"{plan.path}: " if plan.path else ""
        raise BadInput(
            f"{file}audit {audit.name!r}: needs more memory than there is; lower the largest numbers in its "
            "tables data and challenger"
        ) from None


def describe_kinds() -> dict[str, str]:
    """Describe in one line each kind of thing that ``describe`` lists."""
    kinds = {
        "examples": "Examples that leakgauge new --example copies.",
        "keys": "Every key of a plan, with its type and default; --domain D: those of one domain.",
        "kinds": "What leakgauge new can start from.",
        "attacks": "How an attacker turns a release into a score for each target.",
        "domains": "The kinds of releases that can be audited.",
        "knowledge": "What an attacker may know before the release.",
        "mechanisms": "How noise is added to a release.",
        "metrics": "How the results of an audit are measured.",
    }
    for domain in all_domains():
        for what, package in domain.plan_choices.items():
            kinds[what] = _first_line(import_module(f"{domain.package}.{package}"))
    return dict(sorted(kinds.items()))


def describe(what: str, domain: str | None = None) -> dict[str, str]:
    """Describe in one line each thing of a kind: each attack, domain, knowledge, mechanism, metric and so on.

    ``domain`` limits the list to one domain. Without it, names that belong to a domain begin with the
    name of the domain.
    """
    if domain is not None:
        require_known(domain, domain_names(), "no domain")
    wanted = domain_names() if domain is None else [domain]
    match what:
        case "domains":
            return _first_lines(DOMAINS)
        case "mechanisms":
            return _mechanism_lines(domain)
        case "metrics":
            return _first_lines(METRICS)
        case "examples":
            return example_lines()
        case "kinds":
            known = draft_kinds().items()
            return {name: kind.about for name, (owner, kind) in known if owner.name in wanted}
        case "attacks":
            by_domain = {name: _first_lines(attacks_package(name)) for name in wanted}
        case "knowledge":
            by_domain = {name: _knowledge_lines(name) for name in wanted}
        case _:
            require_known(what, list(describe_kinds()), "nothing to list")
            by_domain = {
                name: _first_lines(f"{owner.package}.{owner.plan_choices[what]}")
                for name in wanted
                if what in (owner := get_domain(name)).plan_choices
            }
            if not by_domain:
                raise BadInput(f"domain {domain!r} has no {what}; leave --domain out")
    if domain is not None:
        return by_domain[domain]
    return {f"{place}: {name}": about for place, lines in by_domain.items() for name, about in lines.items()}


def _first_lines(package: str) -> dict[str, str]:
    return {name: _first_line(import_module(f"{package}.{name}")) for name in module_names(package)}


def _mechanism_lines(domain: str | None) -> dict[str, str]:
    """All mechanisms, or those that a domain accepts where it names them."""
    lines = _first_lines(MECHANISMS)
    accepted = None if domain is None else get_domain(domain).mechanism_lines()
    return lines if accepted is None else {name: about or lines[name] for name, about in accepted.items()}


def _knowledge_lines(domain: str) -> dict[str, str]:
    return {name: f"{term.meaning}." for name, term in get_domain(domain).knowledge_terms.items()}


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]
