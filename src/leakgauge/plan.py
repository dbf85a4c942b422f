"""A plan: the audits to run and a seed, from a TOML file or a Python dict, and written back as TOML.

``read_plan`` reads a file, ``plan_of`` checks a dict of the same shape, ``to_toml`` writes a plan as a file.
A plan that has a sweep becomes one audit per point of the sweep.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from numbers import Integral
from pathlib import Path
from typing import Any

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.limits import NO_LIMITS, Limits, has_sequence, read_limits, read_policy, require_stated
from leakgauge.support.files import path_argument
from leakgauge.support.table_reader import convert_value, read_dataclass, require_known
from leakgauge.support.toml_values import toml_problem, toml_text, toml_types
from leakgauge.support.user_code import split_reference
from leakgauge.sweep import sweep_points

MOST_ROUNDS = 10**9
MOST_BLOCKS = 100_000  # each is a file
ASSUMABLE = ("data", "challenger", "mechanism", "metrics", "limits")  # the tables of keys in `assumed`

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,=@+-]*")
_LONGEST_NAME = 200  # characters of a folder's name


class Stop(StrEnum):
    """When an audit ends.

    Attributes:
        ROUNDS: After the number of rounds that the plan states.
        DECIDED: As soon as the promise is shown to be violated, or after that number of rounds.
    """

    ROUNDS = "rounds"
    DECIDED = "decided"


@dataclass(frozen=True, kw_only=True)
class MetricsTable:
    """How the results of an audit are measured.

    Attributes:
        epsilon: The name of the metric that bounds epsilon.
        confidence: The confidence level of all intervals.
        assume: "gaussian" declares that the noise is Gaussian, which the metric `gdp` requires.
        in_sample: Adds the largest TPR - FPR over thresholds chosen on the counted trials, as some papers
            report it, and the value it has without any leak; no finding depends on it.
    """

    epsilon: str = "one_run"
    confidence: float = 0.95
    assume: str | None = None
    in_sample: bool = False

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence <= 1 - 1e-9:
            raise BadInput(f"confidence must be in [0.5, 1 - 1e-9], got {self.confidence}; 0.95 is usual")


@dataclass(frozen=True, kw_only=True)
class Contender:
    """An attacker: an attack and what it knows, as a plan names them.

    Attributes:
        attack: The name of the attack.
        knowledge: The name of what the attacker knows before the release.
        label: The name of this attacker in results and folders; unique within its audit.
        attack_parameters: The parameters of the attack.
        knowledge_parameters: The parameters of the knowledge.
    """

    attack: str
    knowledge: str
    label: str
    attack_parameters: dict[str, Any] = field(default_factory=dict)
    knowledge_parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """One kind of release and the attackers it faces, for a number of rounds.

    Attributes:
        name: The name of the audit; the values of a sweep are part of it.
        domain: The kind of release, such as `locations`.
        rounds: How many releases are simulated.
        block: How many rounds are simulated and saved at a time.
        stop: When the audit ends.
        data: The table `data` of the plan.
        challenger: The table `challenger` of the plan.
        mechanism: The table `mechanism` of the plan.
        metrics: How the results are measured.
        contenders: The attackers.
    """

    name: str
    domain: str
    rounds: int
    block: int
    stop: Stop
    data: dict[str, Any]
    challenger: dict[str, Any]
    mechanism: dict[str, Any]
    metrics: MetricsTable
    contenders: tuple[Contender, ...]

    def __post_init__(self) -> None:
        # No round at all is what a manifest states of an audit that had nothing to look at.
        _check_rounds(self.rounds, self.block, fewest=0)


@dataclass(frozen=True, kw_only=True)
class Heading:
    """What the top of a report says about a release, in the owner's words.

    Attributes:
        title: The title of the report.
        owner: Who is responsible for the release.
        release: What is released.
    """

    title: str | None = None
    owner: str | None = None
    release: str | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The audits to run and a seed; make one with `read_plan` or `plan_of`, which check it.

    Attributes:
        seed: The seed of all random numbers.
        audits: The audits; one for each point of a sweep.
        folder: Where relative files and modules that the plan names are looked for.
        path: The file it was read from, if any.
        text: The text of that file.
        limits: What the owner of the release allows an attacker to reach.
        heading: What the top of the report says about the release.
        publish: The audit of a sweep that will be published; the exit code is about it alone.
        assumed: The keys that nobody stated, such as `mechanism.epsilon`; those of limits are in `limits`.
    """

    seed: int
    audits: tuple[Audit, ...]
    folder: Path
    path: Path | None = None
    text: str | None = None
    limits: Limits = NO_LIMITS
    heading: Heading = Heading()
    publish: str | None = None
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_seed(self.seed, "plan")
        object.__setattr__(self, "seed", int(self.seed))  # also from a number of NumPy
        check_limits(self)


@dataclass(frozen=True, kw_only=True)
class PlanFile:
    """The top of a plan file.

    Attributes:
        audit: The audits: one `[[audit]]` each.
        seed: The seed of all random numbers.
        title: The title of the report.
        owner: Who is responsible for the release.
        release: What is released.
        publish: Of a sweep, the audit that will be published: the exit code is about it alone.
        limits: What you allow an attacker to reach.
        assumed: Keys that nobody stated, such as `mechanism.epsilon`: no answer that rests on them is green.
    """

    audit: tuple[dict[str, Any], ...]
    seed: int = 0
    title: str | None = None
    owner: str | None = None
    release: str | None = None
    publish: str | None = None
    limits: dict[str, Any] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AuditTable:
    """One `[[audit]]` as written, with its sweep.

    Attributes:
        name: The name of the audit, which also names its folder.
        domain: The kind of release: `leakgauge show domains` lists them.
        rounds: How many releases are simulated.
        block: How many rounds are simulated and saved at a time.
        stop: When the audit ends: after its rounds, or as soon as everything is decided.
        data: The data that are released, or that they are generated.
        challenger: Who is in the data, who is looked for, and how releases are made.
        mechanism: The noise, and what is promised.
        metrics: How the results are measured.
        sweep: Lists of values, one audit per combination: `{ "mechanism.epsilon" = [0.5, 1.0] }`.
        attacks: The attackers: names of attacks, or tables `{ name, knowledge, label, ... }`.
    """

    name: str
    domain: str
    rounds: int = 2000
    block: int = 1000
    stop: Stop = Stop.ROUNDS
    data: dict[str, Any] = field(default_factory=dict)
    challenger: dict[str, Any] = field(default_factory=dict)
    mechanism: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    sweep: dict[str, Any] = field(default_factory=dict)
    attacks: tuple[dict[str, Any] | str, ...] | None = None

    def __post_init__(self) -> None:
        _check_rounds(self.rounds, self.block)


def _check_rounds(rounds: int, block: int, fewest: int = 1) -> None:
    for name, number, least in (("rounds", rounds, fewest), ("block", block, 1)):
        if not least <= number <= MOST_ROUNDS:
            raise BadInput(f"{name} must be in 1..{MOST_ROUNDS}, got {number}")
    if rounds > MOST_BLOCKS * block:
        raise BadInput(f"{rounds} rounds in blocks of {block} make too many files; raise block")


def read_plan(path: str | Path, *, seed: int | None = None) -> Plan:
    """Read a plan file; ``seed`` overrides the one in it."""
    path = path_argument(path, "plan")
    text = _read_text(path)
    plan = _checked_plan(_parse(text, str(path)), path.resolve().parent, seed, str(path))
    return replace(plan, path=path, text=text)


def plan_of_text(text: str, folder: Path) -> Plan:
    """Build a plan from the text of a plan file that is to be written to a folder."""
    return replace(_checked_plan(_parse(text, "plan"), folder.resolve(), None, "plan"), text=text)


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        way_out = _data_file_way_out(where)
        problem = f"not valid TOML: {error}; {way_out}" if way_out else toml_problem(text, error)
        raise BadInput(f"{where}: {problem}") from None


def plan_of(table: Mapping[str, Any], *, folder: str | Path | None = None, seed: int | None = None) -> Plan:
    """Build a plan from a dict of the same shape as a plan file, with the same checks.

    Relative files and modules that the plan names are looked for in ``folder``, which is the current folder
    unless given. ``seed`` overrides the one in the table.

    >>> plan = plan_of({"seed": 7, "audit": [{"name": "noise", "domain": "blackbox"}]})
    >>> plan.audits[0].name
    'noise'
    """
    if not isinstance(table, Mapping):
        raise BadInput(f"plan: must be a dict of the same shape as a plan file, got {type(table).__name__}")
    return _checked_plan(toml_types(table, "plan"), Path(folder or ".").resolve(), seed, "plan")


def _checked_plan(table: dict[str, Any], folder: Path, seed: int | None, where: str) -> Plan:
    if isinstance(table.get("audit"), dict):
        raise BadInput(
            f"{where}: 'audit' is one table, not a list of them; a file has [[audit]], with two brackets, "
            "once per audit"
        )
    if set(table) == {"limits"}:
        raise BadInput(
            f"{where}: this is a policy; a plan has [[audit]] once per audit; give a policy with --policy"
        )
    if not table.get("audit", ()) and set(table) <= {known.name for known in fields(PlanFile)}:
        raise BadInput(f"{where}: no audit in it; a file has [[audit]] once per audit")
    file = read_dataclass(PlanFile, table, where, joint=": ")
    audits = tuple(
        audit for i, entry in enumerate(file.audit, 1) for audit in _audits_of_table(entry, i, where)
    )
    _refuse_duplicates(
        [audit.name for audit in audits], f"{where}: two audits are", "their names must differ"
    )
    seed = file.seed if seed is None else seed
    _check_seed(seed, where)
    limits = read_limits(file.limits, f"{where}: limits")
    if "limits" in table:
        require_stated(limits, f"{where}: limits")
    limits, assumed = split_assumed(limits, file.assumed, where)
    try:
        return Plan(
            seed=seed,
            audits=audits,
            folder=folder,
            limits=limits,
            heading=Heading(title=file.title, owner=file.owner, release=file.release),
            publish=file.publish,
            assumed=assumed,
        )
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def split_assumed(limits: Limits, assumed: Sequence[str], where: str) -> tuple[Limits, tuple[str, ...]]:
    """Note with the limits which of them were assumed; return them, and the other assumed keys."""
    for key in assumed:
        require_known(key.partition(".")[0], ASSUMABLE, f"{where}: assumed: {key!r} is in no table")
    of_limits = tuple(key for key in assumed if key.startswith("limits"))
    others = tuple(key for key in assumed if key not in of_limits)
    return replace(limits, assumed=of_limits), others


def _check_seed(seed: int, where: str) -> None:
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    if not whole or not 0 <= seed < 2**63:
        raise BadInput(f"{where}: seed must be a whole number in 0..2^63-1, got {seed!r}")


def check_limits(plan: Plan) -> None:
    """Refuse limits that no attacker of the plan can be compared with, and a point that no audit has."""
    if plan.publish is not None:
        require_known(plan.publish, [audit.name for audit in plan.audits], "publish: no audit")
    known = {
        name
        for audit in plan.audits
        for contender in audit.contenders
        for name in (contender.knowledge, contender.label)
    }
    where = f"{plan.limits.file}: limits" if plan.limits.file else "limits"
    for attacker in plan.limits.attackers:
        require_known(attacker, sorted(known), f"{where}.attackers: no attacker of this plan")
    able = any(catalog.get_domain(audit.domain).exposure is not None for audit in plan.audits)
    if plan.limits.recognised is not None and not able:
        raise BadInput(f"{where}.recognised: people cannot be counted in this domain; limit accuracy instead")
    if any(audit.stop is Stop.DECIDED for audit in plan.audits):
        for name in plan.limits.metrics:
            if not has_sequence(name):
                raise BadInput(
                    f"{where}.{name}: stop = 'decided' may end an audit early, and bounds on {name} need a "
                    "fixed number of rounds; write stop = 'rounds', or limit accuracy only"
                )


def with_policy(plan: Plan, policy: str | Path | None) -> Plan:
    """Return the plan with the limits of a policy file instead of its own."""
    if policy is None:
        return plan
    return replace(plan, limits=read_policy(policy))


def sweep_size(audit: Audit, plan: Plan) -> int:
    """How many points the sweep of an audit has; 1 without a sweep."""
    base = audit.name.partition("@")[0]
    return sum(other.name.partition("@")[0] == base for other in plan.audits) if "@" in audit.name else 1


def plan_without_rounds(plan: Plan) -> dict[str, Any]:
    """Return all of a plan that decides its trials, in values that JSON can hold.

    The number of rounds is left out: more rounds add trials and change none.
    """
    audits = [asdict(audit) for audit in plan.audits]
    for audit in audits:
        del audit["rounds"]
    return json.loads(json.dumps({"seed": plan.seed, "audits": audits}, default=str))


def _data_file_way_out(path: str | Path) -> str:
    """What to do about a file that is not a plan, where its name says that it holds data; else nothing."""
    if Path(path).suffix.lower() in ("", ".toml", ".json", ".yaml", ".yml"):
        return ""
    return f"to make a plan for a data file: leakgauge new {shlex.quote(str(path))}"


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput(f"{path}: no such plan file; check the path") from None
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path}: not a text file in UTF-8 ({error.reason} at byte {error.start}); a plan is a TOML file"
            f"; {_data_file_way_out(path) or 'save it in UTF-8'}"
        ) from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); a plan is a TOML file") from None


def _audits_of_table(table: dict[str, Any], number: int, source: str) -> Iterator[Audit]:
    """Yield the audits of one ``[[audit]]``: one per point of its sweep."""
    name = table.get("name")
    where = f"{source}: audit {name!r}" if isinstance(name, str) else f"{source}: audit number {number}"
    entry = read_dataclass(AuditTable, table, where)
    refuse_unsafe_name(entry.name, f"{where}.name")
    require_known(entry.domain, catalog.domain_names(), f"{where}.domain: no domain")
    contenders = _contenders(entry, where)
    tables = {"data": entry.data, "mechanism": entry.mechanism}
    tables |= {"challenger": entry.challenger, "metrics": entry.metrics}
    for suffix, point in sweep_points(entry.sweep, tables, f"{where}.sweep"):
        name = entry.name + suffix
        if len(name) > _LONGEST_NAME:
            raise BadInput(
                f"{where}.sweep: {name!r} is over {_LONGEST_NAME} characters; shorten it or sweep fewer keys"
            )
        yield Audit(
            name=name,
            domain=entry.domain,
            rounds=entry.rounds,
            block=entry.block,
            stop=entry.stop,
            data=point["data"],
            challenger=point["challenger"],
            mechanism=point["mechanism"],
            metrics=_metrics(point["metrics"], f"{source}: audit {name!r}.metrics"),
            contenders=contenders,
        )


def _metrics(table: dict[str, Any], where: str) -> MetricsTable:
    metrics = read_dataclass(MetricsTable, table, where)
    prefix = "epsilon_"
    known = [
        name.removeprefix(prefix) for name in catalog.module_names(catalog.METRICS) if name.startswith(prefix)
    ]
    require_known(metrics.epsilon, known, f"{where}.epsilon: no metric of epsilon")
    if metrics.assume is not None:
        require_known(metrics.assume, ["gaussian"], f"{where}.assume: no assumption")
    return metrics


def _contenders(entry: AuditTable, where: str) -> tuple[Contender, ...]:
    attacks = entry.attacks
    if attacks is None:
        attacks = catalog.get_domain(entry.domain).attacks_by_default(entry.challenger)
    if not attacks:
        raise BadInput(f"{where}.attacks: the list is empty; name an attack, or leave the key out")
    contenders = tuple(
        _contender(attack, entry.domain, f"{where}.attacks[{i}]") for i, attack in enumerate(attacks)
    )
    labels = [contender.label for contender in contenders]
    _refuse_duplicates(labels, f"{where}.attacks: two are", "give one a label = ... of its own")
    return contenders


def _contender(attack: dict[str, Any] | str, domain: str, where: str) -> Contender:
    parameters = {"name": attack} if isinstance(attack, str) else dict(attack)
    if "name" not in parameters:
        raise BadInput(
            f"{where}: 'name' is missing; add name = \"...\" (leakgauge show attacks --domain {domain})"
        )
    name = convert_value(str, parameters.pop("name"), f"{where}.name")
    known = list(catalog.get_domain(domain).knowledge_terms)
    if ":" in name:  # of the user's own: it is loaded when the audit is prepared, not when a plan is read
        if "knowledge" not in parameters:
            raise BadInput(
                f"{where}: 'knowledge' is missing; an attack of your own states what it knows: knowledge = "
                f'"{known[0]}", one of {", ".join(known)}'
            )
    else:
        names = catalog.module_names(catalog.attacks_package(domain))
        try:
            require_known(name, names, f"{where}.name: no attack on {domain}")
        except BadInput as error:
            own = "" if str(error).endswith("?") else '; one of your own is "file:Class"'
            raise BadInput(f"{error}{own}") from None
        parameters.setdefault("knowledge", catalog.accepted_knowledge(domain, name)[0])
    knowledge = parameters.pop("knowledge")
    knowledge = convert_value(dict[str, Any] | str, knowledge, f"{where}.knowledge")
    knows = {"name": knowledge} if isinstance(knowledge, str) else dict(knowledge)
    if "name" not in knows:
        raise BadInput(f"{where}.knowledge: 'name' is missing; one of {', '.join(known)}")
    knowledge = convert_value(str, knows.pop("name"), f"{where}.knowledge.name")
    require_known(knowledge, known, f"{where}.knowledge: no knowledge of {domain}")
    label = convert_value(
        str, parameters.pop("label", f"{name.rpartition(':')[2]}-{knowledge}"), f"{where}.label"
    )
    refuse_unsafe_name(label, f"{where}.label")
    return Contender(
        attack=name,
        knowledge=knowledge,
        label=label,
        attack_parameters=parameters,
        knowledge_parameters=knows,
    )


def refuse_unsafe_name(name: str, where: str) -> None:
    """Refuse a name that could lead out of the folder in which it names one."""
    if not _SAFE_NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise BadInput(
            f"{where}: {name!r} names a folder: use 1 to {_LONGEST_NAME} letters A to Z, digits and "
            "_ . , = @ + -, beginning with a letter, a digit or _"
        )


def _refuse_duplicates(names: list[str], problem: str, way_out: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:  # some file systems ignore letter case
            raise BadInput(f"{problem} called {name!r}; {way_out} (letter case does not count)")
        seen.add(name.casefold())


def plan_text(plan: Plan) -> str:
    """Return the text of the file that a plan was read from, or that of one for a plan made in Python."""
    if plan.text is None:
        return to_toml(plan)
    return f"# run with --seed {plan.seed}\n{plan.text}" if has_overridden_seed(plan) else plan.text


def has_overridden_seed(plan: Plan) -> bool:
    """Return whether the seed differs from the one in the plan's file."""
    return plan.text is not None and tomllib.loads(plan.text).get("seed", 0) != plan.seed


def to_toml(plan: Plan) -> str:
    """Write a plan as a file that reads back as the same audits."""
    about = {**asdict(plan.heading), "publish": plan.publish}
    lines = [f"seed = {plan.seed}"]
    lines += [f"{key} = {toml_text(value)}" for key, value in about.items() if value is not None]
    if assumed := [*plan.assumed, *plan.limits.assumed]:
        lines.append(f"assumed = {toml_text(assumed)}")
    if limits := plan.limits.table():
        lines.append(f"limits = {toml_text(limits)}")
    for audit in plan.audits:
        table = _table_of(audit)
        lines += [
            "",
            "[[audit]]",
            *(f"{key} = {toml_text(value)}" for key, value in table.items() if value != {}),
        ]
    return "\n".join(lines) + "\n"


def _table_of(audit: Audit) -> dict[str, Any]:
    """The ``[[audit]]`` of a plan file that reads back as an audit."""
    table = asdict(audit)
    del table["contenders"]
    table["attacks"] = [
        {
            "name": contender.attack,
            "knowledge": {"name": contender.knowledge, **contender.knowledge_parameters},
            "label": contender.label,
            **contender.attack_parameters,
        }
        for contender in audit.contenders
    ]
    return table


def check_stored_audits(audits: Sequence[Audit]) -> None:
    """Check audits of another file as those of a plan file are checked; no code that they name is loaded."""
    _refuse_duplicates([audit.name for audit in audits], "two audits are", "their names must differ")
    for audit in audits:
        where = f"audit {audit.name!r}"
        table = {**_table_of(audit), "rounds": audit.rounds or 1}  # none: it had nothing to look at
        (read,) = _audits_of_table(table, 1, "plan")
        if replace(read, rounds=audit.rounds) != audit:
            raise BadInput(f"{where}: no plan file gives this audit")
        name, named = audit.mechanism.get("name"), catalog.module_names(catalog.MECHANISMS)
        if name is not None and name not in named:
            lines = catalog.get_domain(audit.domain).mechanism_lines()
            require_known(name, list(lines or ("own",)), f"{where}: no mechanism")
        for contender in audit.contenders:
            if ":" in contender.attack and split_reference(contender.attack) is None:
                raise BadInput(f'{where}: {contender.attack!r} must be written "module:name"')
