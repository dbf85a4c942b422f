"""Any Python callable, and a pair of neighbouring inputs."""

from leakgauge.core.domain import Domain, Term

DOMAIN = Domain(
    package=__name__,
    default_attacks=("learned_event",),
    lower_risk="Add more noise, or release fewer values.",
    drafts="plan_draft:draft_kinds",
    plan_forms="plan_forms:plan_forms",
    knowledge_terms={
        "simulator": Term(
            title="attacker who can run the release",
            meaning="Can run the release on both inputs itself, as often as it likes",
        ),
        "law": Term(
            title="attacker who knows the noise distribution",
            meaning="Knows the distribution of the noise and the true values in both worlds",
        ),
    },
    private_keys=("pair",),
    function_audit="function_audit:prepare_function_audit",
)
