"""What ``leakgauge show`` lists: things that a plan may name, with the parameters that each of them takes."""

from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from leakgauge import catalog
from leakgauge.core.domain import Domain
from leakgauge.plan_schema import describe_keys, forms_of, key_row
from leakgauge.support.plan_forms import NO_LINES, TableForm, dataclass_keys, form_keys

KEYS = "keys"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing of a kind: its name, a line about it, its domain if it belongs to one, and its parameters."""

    kind: str
    name: str
    about: str
    domain: str | None = None
    parameters: tuple[dict[str, str], ...] = ()

    def table(self) -> dict[str, Any]:
        """The entry as JSON holds it."""
        return asdict(self)


def list_entries(what: str, domain: str | None = None) -> list[Entry]:
    """List the things of a kind, of all domains or of one."""
    if what == KEYS:
        return [_key_entry(row, domain) for row in describe_keys(domain)]
    if domain is None and what in _of_domains():
        able = [one for one in catalog.all_domains() if what in _DOMAIN_KINDS or what in one.plan_choices]
        return [entry for one in able for entry in list_entries(what, one.name)]
    lines = catalog.describe(what, domain)
    return [
        Entry(
            kind=what,
            name=name,
            about=about,
            domain=_domain_of(what, name, domain),
            parameters=_parameters(what, name, domain),
        )
        for name, about in lines.items()
    ]


_DOMAIN_KINDS = ("attacks", "knowledge")


def _of_domains() -> set[str]:
    choices = {what for domain in catalog.all_domains() for what in domain.plan_choices}
    return choices | set(_DOMAIN_KINDS)


def _domain_of(what: str, name: str, domain: str | None) -> str | None:
    return catalog.draft_kinds()[name][0].name if what == "kinds" else domain


def _key_entry(row: dict[str, str], domain: str | None) -> Entry:
    shown = {key: row[key] for key in ("type", "default", "with")}
    return Entry(kind=KEYS, name=row["name"], about=row["about"], domain=domain, parameters=(shown,))


def _parameters(what: str, name: str, domain: str | None) -> tuple[dict[str, str], ...]:
    """The parameters that a thing takes in a plan; none where it takes none or they are not described."""
    owner = None if domain is None else catalog.get_domain(domain)
    described = owner is not None and owner.plan_forms is not None
    if what == "knowledge" and owner is not None and described:
        form = forms_of(owner).knowledge.get(name, TableForm())
        return tuple(key_row(key) for key in form_keys(form, forms_of(owner).lines).values())
    if what == "mechanisms" and owner is not None and described:
        return _mechanism_parameters(owner, name)
    place = _class_place(what, name, owner)
    if place is None:
        return ()
    kind: type = vars(import_module(place[0]))[place[1]]
    lines = forms_of(owner).lines if owner is not None and described else NO_LINES
    return tuple(key_row(key) for key in dataclass_keys(kind, lines))


def _mechanism_parameters(owner: Domain, name: str) -> tuple[dict[str, str], ...]:
    forms = forms_of(owner)
    for form in forms.mechanism:
        if name in form.chosen_by.get("name", ()):
            keys = form_keys(form, forms.lines).values()
            return tuple(key_row(key) for key in keys if key.name != "name")
    return ()


def _class_place(what: str, name: str, owner: Domain | None) -> tuple[str, str] | None:
    """The module and the name of the class whose fields are the parameters."""
    if what == "attacks" and owner is not None:
        return f"{owner.attacks_package}.{name}", "Attack"
    if what == "mechanisms" and owner is None:
        return f"{catalog.MECHANISMS}.{name}", "Mechanism"
    if owner is not None and what in owner.plan_choices:
        place, role = (
            f"{owner.package}.{owner.plan_choices[what]}.{name}",
            what.removesuffix("s").capitalize(),
        )
        return (place, role) if role in vars(import_module(place)) else None
    return None
