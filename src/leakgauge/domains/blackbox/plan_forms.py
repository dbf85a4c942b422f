"""The forms of the tables of a plan about a function or a named mechanism."""

from leakgauge.domains.blackbox.plan_tables import (
    OWN_RELEASE,
    BlackboxChallengerTable,
    BlackboxMechanismTable,
)
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.support.plan_forms import PlanForms, TableForm

_LINES = {
    "pair": 'Two inputs, without and with the person: values, or "module:name" of them or of a function.',
    "release": 'Your function, as "module:function": it takes an input and a generator.',
}


def plan_forms() -> PlanForms:
    """Return the forms of all tables."""
    named = tuple(
        TableForm(kinds=(mechanism_class(name),), chosen_by={"name": (name,)}, needs_choice=True)
        for name in mechanism_names()
        if name != "opendp"
    )
    own = TableForm(kinds=(BlackboxMechanismTable,), chosen_by={"name": (OWN_RELEASE,)})
    return PlanForms(
        lines=_LINES,
        data=(TableForm(),),
        challenger=(TableForm(kinds=(BlackboxChallengerTable,)),),
        mechanism=(own, *named),
        knowledge={"simulator": TableForm(), "law": TableForm()},
    )
