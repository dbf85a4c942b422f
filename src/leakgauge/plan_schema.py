"""The JSON Schema of a plan, and the list of its keys: both from the dataclasses that check a plan.

The schema is for editors. It knows every key, type and choice; rules about several keys together are left to
``leakgauge run``.
"""

import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any, Literal, Union, get_args, get_origin

from leakgauge import catalog
from leakgauge.core.domain import Domain
from leakgauge.core.errors import BadInput
from leakgauge.limits import LIMIT_SETTINGS, limited_metrics
from leakgauge.plan import MOST_ROUNDS, AuditTable, MetricsTable, PlanFile
from leakgauge.support.plan_forms import (
    NO_LINES,
    KeyDescription,
    PlanForms,
    TableForm,
    dataclass_keys,
    default_text,
    first_line,
    form_keys,
    type_text,
)
from leakgauge.support.target_choice import TargetChoice
from leakgauge.support.user_code import REFERENCE

DRAFT = "http://json-schema.org/draft-07/schema#"  # what editors of TOML understand
TABLES = ("data", "challenger", "mechanism")
_SIMPLE: dict[Any, dict[str, Any]] = {
    float: {"type": "number"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    str: {"type": "string"},
}
_RANGES: dict[str, dict[str, Any]] = {  # of numbers that mean the same wherever they stand
    "seed": {"minimum": 0},
    "rounds": {"minimum": 1, "maximum": MOST_ROUNDS},
    "block": {"minimum": 1, "maximum": MOST_ROUNDS},
    "confidence": {"minimum": 0.5, "exclusiveMaximum": 1},
    "epsilon": {"minimum": 0},
    "delta": {"minimum": 0, "exclusiveMaximum": 1},
    "budget": {"minimum": 0},
}
_LIMIT_LINES = {
    "attackers": "Whose success counts, by what they know or by their label; every attacker if left out.",
    "recognised": "The largest share of people who may be recognised, as `leakgauge expose` counts them.",
    "recognised_at": "From which accuracy on a person counts as recognised.",
    "none": "Declares that no limit is wanted, as in research.",
}


def schema_text() -> str:
    """Return the schema of plans as the text of a file, without line breaks: it is for machines."""
    return json.dumps(plan_schema(), ensure_ascii=False, separators=(",", ":")) + "\n"


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of a plan."""
    definitions: dict[str, Any] = {}
    domains = [domain for domain in catalog.all_domains() if domain.plan_forms is not None]
    for domain in domains:
        _define_domain(domain, definitions)
    properties = {key.name: _key_schema(key) for key in dataclass_keys(PlanFile)}
    properties["audit"] = {
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/definitions/audit"},
        "description": "The audits of the plan: one [[audit]] each.",
    }
    properties["limits"] = _limits_schema()
    definitions["audit"] = _audit_schema([domain.name for domain in domains])
    return {
        "$schema": DRAFT,
        "title": "A plan of leakgauge",
        "type": "object",
        "properties": properties,
        "required": ["audit"],
        "additionalProperties": False,
        "definitions": definitions,
    }


def _audit_schema(domains: Sequence[str]) -> dict[str, Any]:
    """The schema of one audit; the domain that it names decides about its tables."""
    properties = {key.name: _key_schema(key) for key in dataclass_keys(AuditTable)}
    properties["domain"] = {
        "enum": catalog.domain_names(),
        "description": properties["domain"]["description"],
    }
    properties["metrics"] = {**_table_schema(TableForm(kinds=(MetricsTable,))), "type": "object"}
    properties["sweep"] = _sweep_schema()
    return {
        "type": "object",
        "properties": properties,
        "required": ["name", "domain"],
        "additionalProperties": False,
        **_by_domain(domains),
    }


def _by_domain(names: Sequence[str]) -> dict[str, Any]:
    """The tables of the domain that an audit names: one condition after the other."""
    rules: dict[str, Any] = {}
    for name in reversed(names):
        tables = {
            "if": {"required": ["sweep"]},
            "then": {"$ref": f"#/definitions/{name}-swept"},
            "else": {"$ref": f"#/definitions/{name}"},
        }
        rest = {"else": rules} if rules else {}
        rules = {"if": {"properties": {"domain": {"const": name}}}, "then": tables, **rest}
    return rules


def _sweep_schema() -> dict[str, Any]:
    """Keys with a dot and lists of values; without quotes they are tables within tables."""
    values = {"anyOf": [{"type": "array", "minItems": 1}, {"type": "object"}]}
    return {
        "type": "object",
        "propertyNames": {"pattern": rf"^({'|'.join((*TABLES, 'metrics'))})(\..+)?$"},
        "additionalProperties": values,
        "description": 'Lists of values, one audit per combination: { "mechanism.epsilon" = [0.5, 1.0] }.',
    }


def _limits_schema() -> dict[str, Any]:
    metrics = {
        name: {
            "type": "number",
            "exclusiveMinimum": chance or 0,
            "exclusiveMaximum": 1,
            "description": f"The largest value of {name} that you allow: a share, such as 0.6.",
        }
        for name, chance in limited_metrics().items()
    }
    settings = {
        name: {**schema_of_hint(hint), "description": _LIMIT_LINES[name]}
        for name, hint in LIMIT_SETTINGS.items()
    }
    return {
        "type": "object",
        "properties": {**metrics, **settings},
        "additionalProperties": False,
        "description": "What you allow an attacker to reach.",
    }


def _define_domain(domain: Domain, definitions: dict[str, Any]) -> None:
    """Add the definitions of a domain: its tables as they are, and as they are beside a sweep."""
    forms = forms_of(domain)
    strict, loose = {}, {}
    for table in TABLES:
        written: tuple[TableForm, ...] = getattr(forms, table)
        for i, form in enumerate(written):
            definitions[f"{domain.name}-{table}-{i}"] = _table_schema(
                form, _taken_choices(form, written), forms.lines
            )
        names = [f"{domain.name}-{table}-{i}" for i in range(len(written))]
        loose[table] = {"anyOf": [{"$ref": f"#/definitions/{name}"} for name in names]}
        strict[table] = {
            "anyOf": [
                {"allOf": [{"$ref": f"#/definitions/{name}"}, {"required": _required(form)}]}
                for name, form in zip(names, written)
            ]
        }
    definitions[f"{domain.name}-knowledge"] = {
        "anyOf": [{"enum": list(forms.knowledge)}, *_knowledge_tables(forms)]
    }
    definitions[f"{domain.name}-attack"] = _attacks_schema(domain, forms)
    one = {"$ref": f"#/definitions/{domain.name}-attack"}
    attacks = {"attacks": {"type": "array", "minItems": 1, "items": one}}
    definitions[domain.name] = {"properties": {**strict, **attacks}}
    definitions[f"{domain.name}-swept"] = {"properties": {**loose, **attacks}}


def _taken_choices(form: TableForm, others: Sequence[TableForm]) -> dict[str, list[str]]:
    """Values that choose other forms, and so cannot stand in this one."""
    taken: dict[str, list[str]] = {}
    for other in others:
        if other is not form:
            for key, values in other.chosen_by.items():
                taken.setdefault(key, []).extend(values)
    return {key: values for key, values in taken.items() if key not in form.chosen_by}


def _required(form: TableForm) -> list[str]:
    """Keys without a default; one that chooses the form is needed only where another form is the default."""
    missing = [name for name, key in form_keys(form).items() if key.default is MISSING]
    chosen = list(form.chosen_by) if form.needs_choice else []
    return sorted({*chosen, *(name for name in missing if name not in form.chosen_by)})


def _table_schema(
    form: TableForm, taken: Mapping[str, list[str]] | None = None, lines: Mapping[str, str] = NO_LINES
) -> dict[str, Any]:
    properties = {name: _key_schema(key, lines) for name, key in form_keys(form, lines).items()}
    for name, values in form.chosen_by.items():
        properties[name] = {"enum": list(values), "description": properties[name].get("description", "")}
    for name, others in (taken or {}).items():
        if name in properties:
            properties[name] = {**properties[name], "not": {"enum": others}}
    about = " ".join(filter(None, (first_line(kind) for kind in form.kinds)))
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        **({"description": about} if about else {}),
    }


def _attacks_schema(domain: Domain, forms: PlanForms) -> dict[str, Any]:
    """One attacker: the name of an attack, or a table with its parameters."""
    knowledge = {"$ref": f"#/definitions/{domain.name}-knowledge"}
    tables = []
    for name in catalog.module_names(domain.attacks_package):
        kind: type = import_module(f"{domain.attacks_package}.{name}").Attack
        table = _table_schema(TableForm(kinds=(kind,)), lines=forms.lines)
        table["properties"] |= {
            "name": {"const": name, "description": catalog.attack_term(domain.name, name).title},
            "knowledge": {"allOf": [knowledge], "description": "What the attacker knows before the release."},
            "label": {"type": "string", "description": "The name of this attacker in results."},
        }
        tables.append({**table, "required": ["name"]})
    own = {
        "name": {
            "type": "string",
            "pattern": f"^{REFERENCE}$",
            "description": 'An attack of your own: "file:Class".',
        },
        "knowledge": {"allOf": [knowledge], "description": "What the attacker knows before the release."},
    }
    tables.append({"type": "object", "properties": own, "required": ["name", "knowledge"]})
    names = catalog.module_names(domain.attacks_package)
    return {"anyOf": [{"enum": names}, *tables]}


def _knowledge_tables(forms: PlanForms) -> list[dict[str, Any]]:
    found = []
    for name, form in forms.knowledge.items():
        table = _table_schema(form, lines=forms.lines)
        table["properties"] = {"name": {"const": name}, **table["properties"]}
        found.append({**table, "required": ["name"]})
    return found


def _key_schema(key: KeyDescription, lines: Mapping[str, str] = NO_LINES) -> dict[str, Any]:
    schema = schema_of_hint(key.hint, lines)
    if schema.get("type") in ("integer", "number"):
        schema = {**schema, **_RANGES.get(key.name, {})}
    if key.about:
        schema = {**schema, "description": key.about}
    if isinstance(key.default, bool | int | float | str) and not isinstance(key.default, Enum):
        schema = {**schema, "default": key.default}
    if isinstance(key.default, Enum):
        schema = {**schema, "default": key.default.value}
    return schema


def schema_of_hint(hint: Any, lines: Mapping[str, str] = NO_LINES) -> dict[str, Any]:
    """Return the schema of a type hint, as ``support.table_reader`` checks it.

    >>> schema_of_hint(tuple[int, int])
    {'type': 'array', 'items': [{'type': 'integer'}, {'type': 'integer'}], 'minItems': 2, 'maxItems': 2}
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    if origin in (Union, types.UnionType):
        kinds = [schema_of_hint(one, lines) for one in arguments if one is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple or hint is tuple:
        return _array_schema(arguments, lines)
    if origin in (dict, Mapping) or hint is dict:
        return {"type": "object"}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if isinstance(hint, type) and is_dataclass(hint):
        table = _table_schema(TableForm(kinds=(hint,)), lines=lines)
        return {"anyOf": [{"type": "integer"}, table]} if issubclass(hint, TargetChoice) else table
    return {}


def _array_schema(arguments: Sequence[Any], lines: Mapping[str, str]) -> dict[str, Any]:
    if not arguments:
        return {"type": "array"}
    if arguments[-1] is Ellipsis:
        return {"type": "array", "items": schema_of_hint(arguments[0], lines)}
    items = [schema_of_hint(one, lines) for one in arguments]
    return {"type": "array", "items": items, "minItems": len(items), "maxItems": len(items)}


def forms_of(domain: Domain) -> PlanForms:
    """Return the forms of the tables of a domain."""
    if domain.plan_forms is None:
        raise BadInput(f"domain {domain.name!r} does not describe the tables of its plans")
    return domain.load(domain.plan_forms)()


def describe_keys(domain: str | None = None) -> list[dict[str, str]]:
    """Describe every key of a plan, or those of the tables of one domain: name, type, default, one line."""
    if domain is not None:
        return _domain_keys(catalog.get_domain(domain))
    rows = [_row("", "", key) for key in dataclass_keys(PlanFile) if key.name not in ("audit", "limits")]
    rows += [_row("limits", "", key) for key in _limit_keys()]
    rows += [_row("audit", "", key) for key in dataclass_keys(AuditTable) if key.name != "metrics"]
    return rows + [_row("audit.metrics", "", key) for key in dataclass_keys(MetricsTable)]


def _limit_keys() -> list[KeyDescription]:
    metrics = [
        KeyDescription(name=f'"{name}"' if "." in name else name, hint=float, default=None, about=title)
        for name, title in (
            (name, f"The largest value of {name} that you allow.") for name in limited_metrics()
        )
    ]
    settings = [
        KeyDescription(name=name, hint=hint, default=None, about=_LIMIT_LINES[name])
        for name, hint in LIMIT_SETTINGS.items()
    ]
    return metrics + settings


def _domain_keys(domain: Domain) -> list[dict[str, str]]:
    forms = forms_of(domain)
    rows = []
    for table in TABLES:
        for form in getattr(forms, table):
            for key in form_keys(form, forms.lines).values():
                rows += _nested_rows(table, form.title, key, forms.lines)
    for name in catalog.module_names(domain.attacks_package):
        kind: type = import_module(f"{domain.attacks_package}.{name}").Attack
        rows += [_row("attacks", name, key) for key in dataclass_keys(kind, forms.lines)]
    for name, form in forms.knowledge.items():
        rows += [_row("attacks.knowledge", name, key) for key in form_keys(form, forms.lines).values()]
    return rows


def _nested_rows(
    table: str, title: str, key: KeyDescription, lines: Mapping[str, str]
) -> list[dict[str, str]]:
    """The row of a key, and those of the keys of a table below it."""
    rows = [_row(table, title, key)]
    kinds = [one for one in (key.hint, *get_args(key.hint)) if isinstance(one, type) and is_dataclass(one)]
    for kind in kinds:
        for nested in dataclass_keys(kind, lines):
            rows += _nested_rows(f"{table}.{key.name}", title, nested, lines)
    return rows


def _row(table: str, title: str, key: KeyDescription) -> dict[str, str]:
    return {**key_row(key), "name": f"{table}.{key.name}" if table else key.name, "with": title}


def key_row(key: KeyDescription) -> dict[str, str]:
    """A key in words: name, type, default and a line about it."""
    return {
        "name": key.name,
        "type": type_text(key.hint),
        "default": default_text(key.default),
        "about": key.about,
    }
