"""A plan: the audits to play, read from a TOML file."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from leakgauge import catalog
from leakgauge.core.errors import BadInput
from leakgauge.core.settings import convert, read, require
from leakgauge.sweep import points

MOST_ROUNDS = 10**9
MOST_BLOCKS = 100_000  # each is a file

_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,=@+-]*")
_LONGEST = 200  # characters of a folder's name


class Stop(StrEnum):
    """When an audit ends."""

    ROUNDS = "rounds"  # after the number of rounds the plan names
    DECIDED = "decided"  # as soon as an e-process shows a violation


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Which questions the referee is asked: the epsilon metric by name, and how sure to be.

    ``assume = "gaussian"`` declares that the noise is Gaussian, which the metric ``gdp`` demands.
    ``in_sample`` adds the largest TPR - FPR over thresholds chosen on the counted trials, as some papers have
    it, and what that comes to without a leak; no finding rests on it.
    """

    epsilon: str = "one_run"
    confidence: float = 0.95
    assume: str | None = None
    in_sample: bool = False

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            raise BadInput(f"confidence must be in [0.5, 1), got {self.confidence}; 0.95 is usual")


@dataclass(frozen=True, kw_only=True)
class Contender:
    """An attack and the knowledge it is given, as a plan names them."""

    attack: str
    knowledge: str
    label: str
    attack_parameters: dict[str, Any] = field(default_factory=dict)
    knowledge_parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """One challenger and the adversaries set against it, for a number of rounds."""

    name: str
    domain: str
    rounds: int
    block: int
    stop: Stop
    data: dict[str, Any]
    challenger: dict[str, Any]
    mechanism: dict[str, Any]
    metrics: Metrics
    contenders: tuple[Contender, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A tuple of audits and a seed; ``folder`` is where relative files and modules are looked for.

    ``path`` and ``text`` are the file it was read from, if any.
    """

    seed: int
    audits: tuple[Audit, ...]
    folder: Path
    path: Path | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class _File:
    """The top of a plan file."""

    audit: tuple[dict[str, Any], ...]
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """One ``[[audit]]`` as written: before its sweep is spread out."""

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
        for name in ("rounds", "block"):
            if not 1 <= getattr(self, name) <= MOST_ROUNDS:
                raise BadInput(f"{name} must be in 1..{MOST_ROUNDS}, got {getattr(self, name)}")
        if self.rounds > MOST_BLOCKS * self.block:
            raise BadInput(f"{self.rounds} rounds in blocks of {self.block} make too many files; raise block")


def read_plan(path: str | Path, *, seed: int | None = None) -> Plan:
    """Read a plan file; ``seed`` overrides the one in it."""
    path = Path(path)
    text = _text(path)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not valid TOML: {error}; mend that line") from None
    if isinstance(table.get("audit"), dict):
        raise BadInput(f"{path}: 'audit' is one table; write [[audit]] with two brackets, once per audit")
    file = read(_File, table, str(path))
    if not file.audit:
        raise BadInput(f"{path}: no audit in it; add one that begins with [[audit]]")
    audits = tuple(audit for i, entry in enumerate(file.audit, 1) for audit in _audits(entry, i, path))
    _refuse_twins([audit.name for audit in audits], f"{path}: two audits are", "their names must differ")
    seed = file.seed if seed is None else seed
    if not 0 <= seed < 2**63:
        raise BadInput(f"{path}: seed must be a whole number in 0..2^63-1, got {seed}")
    return Plan(seed=seed, audits=audits, folder=path.resolve().parent, path=path, text=text)


def canonical(plan: Plan) -> dict[str, Any]:
    """What decides every trial of a plan: all of it but the numbers of rounds; values JSON can hold."""
    audits = [asdict(audit) for audit in plan.audits]
    for audit in audits:
        del audit["rounds"]
    return json.loads(json.dumps({"seed": plan.seed, "audits": audits}, default=str))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInput(f"{path}: no such plan file; check the path") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not a text file in UTF-8 ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); a plan is a TOML file") from None


def _audits(table: dict[str, Any], number: int, path: Path) -> Iterator[Audit]:
    """Spread one ``[[audit]]`` over its sweep."""
    name = table.get("name")
    where = f"{path}: audit {name!r}" if isinstance(name, str) else f"{path}: audit number {number}"
    entry = read(_Entry, table, where)
    _refuse_unsafe(entry.name, f"{where}.name")
    require(entry.domain, catalog.domains(), f"{where}.domain: no domain")
    contenders = _contenders(entry, where)
    tables = {"data": entry.data, "mechanism": entry.mechanism}
    tables |= {"challenger": entry.challenger, "metrics": entry.metrics}
    for suffix, point in points(entry.sweep, tables, f"{where}.sweep"):
        name = entry.name + suffix
        if len(name) > _LONGEST:
            raise BadInput(
                f"{where}.sweep: {name!r} is over {_LONGEST} characters; shorten it or sweep fewer keys"
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
            metrics=_metrics(point["metrics"], f"{path}: audit {name!r}.metrics"),
            contenders=contenders,
        )


def _metrics(table: dict[str, Any], where: str) -> Metrics:
    metrics = read(Metrics, table, where)
    prefix = "epsilon_"
    known = [name.removeprefix(prefix) for name in catalog.names(catalog.METRICS) if name.startswith(prefix)]
    require(metrics.epsilon, known, f"{where}.epsilon: no metric of epsilon")
    if metrics.assume is not None:
        require(metrics.assume, ["gaussian"], f"{where}.assume: no assumption")
    return metrics


def _contenders(entry: _Entry, where: str) -> tuple[Contender, ...]:
    attacks = catalog.default_attacks(entry.domain) if entry.attacks is None else entry.attacks
    if not attacks:
        raise BadInput(f"{where}.attacks: the list is empty; name an attack, or leave the key out")
    contenders = tuple(
        _contender(attack, entry.domain, f"{where}.attacks[{i}]") for i, attack in enumerate(attacks)
    )
    labels = [contender.label for contender in contenders]
    _refuse_twins(labels, f"{where}.attacks: two are", "give one a label = ... of its own")
    return contenders


def _contender(attack: dict[str, Any] | str, domain: str, where: str) -> Contender:
    parameters = {"name": attack} if isinstance(attack, str) else dict(attack)
    if "name" not in parameters:
        raise BadInput(
            f"{where}: 'name' is missing; add name = \"...\" (leakgauge show attacks --domain {domain})"
        )
    name = convert(str, parameters.pop("name"), f"{where}.name")
    require(name, catalog.names(catalog.attacks(domain)), f"{where}.name: no attack on {domain}")
    known, _ = catalog.knowledge_names(domain)
    knowledge = parameters.pop("knowledge", catalog.usual_knowledge(domain, name))
    knowledge = convert(dict[str, Any] | str, knowledge, f"{where}.knowledge")
    knows = {"name": knowledge} if isinstance(knowledge, str) else dict(knowledge)
    if "name" not in knows:
        raise BadInput(f"{where}.knowledge: 'name' is missing; one of {', '.join(known)}")
    knowledge = convert(str, knows.pop("name"), f"{where}.knowledge.name")
    require(knowledge, known, f"{where}.knowledge: no knowledge of {domain}")
    label = convert(str, parameters.pop("label", f"{name}-{knowledge}"), f"{where}.label")
    _refuse_unsafe(label, f"{where}.label")
    return Contender(
        attack=name,
        knowledge=knowledge,
        label=label,
        attack_parameters=parameters,
        knowledge_parameters=knows,
    )


def _refuse_unsafe(name: str, where: str) -> None:
    if not _SAFE.fullmatch(name) or len(name) > _LONGEST:
        raise BadInput(
            f"{where}: {name!r} names a folder: use 1 to {_LONGEST} letters A to Z, digits and _ . , = @ + -,"
            " beginning with a letter, a digit or _"
        )


def _refuse_twins(names: list[str], problem: str, way_out: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:  # some file systems do not tell letter case apart
            raise BadInput(f"{problem} called {name!r}; {way_out} (letter case does not count)")
        seen.add(name.casefold())
