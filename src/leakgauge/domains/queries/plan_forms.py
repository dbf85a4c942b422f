"""The forms of the tables of a plan about a query service."""

from leakgauge.domains.queries import plan_tables
from leakgauge.domains.queries.data import SYNTHETIC
from leakgauge.domains.queries.opendp_noise import QueriesOpenDPTable
from leakgauge.mechanisms import mechanism_class, mechanism_names
from leakgauge.mechanisms._additive import adds_noise
from leakgauge.support.plan_forms import PlanForms, TableForm

_PUBLISHED = {
    "round": (bool, "Answers are rounded to whole numbers."),
    "clamp": (bool, "Negative answers become 0."),
}
_LINES = {
    "Query.kind": "What is computed over the selected records.",
    "Query.where": "Which records are selected: what follows WHERE in SQL.",
    "Query.ids": "Which records are selected, by their ids; attacks choose them.",
    "Query.group_by": "The column by whose values or intervals answers are grouped.",
    "Query.groups": "The values of that column, one answer each.",
    "Query.edges": "The ends of the intervals, one answer between two of them; the lower end is included.",
    "QueriesServiceTable.rate": "Requests a second, over all connections.",
    "QueriesServiceTable.total": "Requests that an audit may send each time it is started.",
    "QueriesServiceTable.tries": "How often one request is sent at most.",
    "QueriesServiceTable.ask": "The request that asks a question.",
    "QueriesServiceTable.token": "The environment variable that holds the token.",
    "QueriesServiceTable.control": "How the positive control makes the two worlds differ.",
    "QueriesServiceTable.suppressed": "How a count below the smallest one is reported, if not as a refusal.",
    "RequestTemplate.json": "The body of the request, with placeholders.",
    "OpenRequest.round": "The field of the reply with the name of the session.",
    "AskRequest.answer": "The field of the reply with the number.",
    "id": "The column that names a row; by default id, or else row numbers from 0.",
    "QueriesFileTable.id": "The column that names a row; by default id, or else row numbers from 0.",
    "person": "The column of people, who may have several rows.",
    "QueriesFileTable.person": "The column of people, who may have several rows.",
    "QueriesSyntheticTable.person": "The column of people, who may have several rows.",
    "QueriesFileTable.rows_per_person": "The most rows of a person that count.",
    "QueriesSyntheticTable.rows_per_person": "The most rows of a person that are generated.",
    "QueriesChallengerTable.promise": "The epsilon that the owner states, where the budget gives no promise.",
    "QueriesChallengerTable.service": "A service that answers instead of this process.",
    "QueriesChallengerTable.delta": "The delta at which answers are composed tightly.",
    "QueriesAttributesTable.columns": "The columns that the attacker knows.",
    "QueriesKnowledgeTable.records": "How many records the attacker knows.",
    "QueriesSyntheticTable.records": "How many people are generated.",
    "Query.bound": "The largest value that one record adds to a sum, in size.",
    "Query.column": "What a sum adds up.",
    "RequestTemplate.method": "The HTTP method.",
    "accountant": "What an answer is charged to: leakgauge show accountants lists them.",
    "budget": "The total epsilon after which nothing is answered.",
    "by": "How records are selected: by ids, or by predicates.",
    "cache": "Which repeated questions get the same answer.",
    "choose": "Which records become targets.",
    "close": "The request that ends a session.",
    "connections": "How many requests are sent at a time.",
    "field": 'The field of the reply, such as "error.code".',
    "form": "Which form of the t-test.",
    "header": "The header of the reply.",
    "headers": "Headers of the request.",
    "level": "The significance level of the t-test.",
    "measurement": 'Your OpenDP measurement, as "module:function".',
    "method": "How equations are solved.",
    "open": "The request that begins a session.",
    "own_service": "States that the service is yours; no other may be questioned.",
    "path": "The path of the request, with placeholders.",
    "query": "What is asked: { kind, column, bound, where, group_by, groups, edges }.",
    "refused": "How a refusal is recognised.",
    "sides": "Whether the t-test has one side or two.",
    "spent": "Where replies say what was spent.",
    "status": "The HTTP status.",
    "sums": "How a sum is written in SQL.",
    "suppress_by": "Whether small counts are withheld by the true number or by the noisy one.",
    "table": "The name of the table in SQL.",
    "timeout": "How many seconds a request may take.",
    "url": "Where the service answers: http on this machine, https elsewhere.",
    "wording": "How a question is repeated.",
    "worlds": "The names of the two copies, without and with the target.",
}


def plan_forms() -> PlanForms:
    """Return the forms of all tables."""
    noise = tuple(
        TableForm(
            kinds=(mechanism_class(name),),
            chosen_by={"name": (name,)},
            needs_choice=True,
            extra=_PUBLISHED,
            omitted=("sensitivity", "relation", "unit"),
        )
        for name in mechanism_names(adds_noise)
    )
    measurement = TableForm(
        kinds=(QueriesOpenDPTable,),
        chosen_by={"name": (plan_tables.OPENDP,)},
        needs_choice=True,
        extra=_PUBLISHED,
    )
    return PlanForms(
        lines=_LINES,
        data=(
            TableForm(kinds=(plan_tables.QueriesSyntheticTable,), chosen_by={"source": (SYNTHETIC,)}),
            TableForm(kinds=(plan_tables.QueriesFileTable,)),
        ),
        challenger=(TableForm(kinds=(plan_tables.QueriesChallengerTable,)),),
        mechanism=(*noise, measurement),
        knowledge={
            "known": TableForm(kinds=(plan_tables.QueriesKnowledgeTable,)),
            "attributes": TableForm(kinds=(plan_tables.QueriesAttributesTable,)),
        },
    )
