"""Any Python callable, and a pair of neighbouring inputs."""

from leakgauge.core.domain import Domain, Term, Tunable

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
    clue_advice={
        "floating_point": "Use noise whose lowest bits tell nothing: geometric or discrete Gaussian noise on "
        "whole numbers, results rounded to a fixed grid, or a library that does so, such as OpenDP.",
        "shape": "Publish the same keys, lengths and types whoever is in the data.",
    },
    tunable=(
        Tunable(
            key="mechanism.epsilon",
            title="epsilon",
            low=0.001,
            high=20.0,
            fixed_by=(
                "mechanism.scale",
                "mechanism.sigma",
                "challenger.release",
            ),
        ),
        Tunable(
            key="mechanism.scale",
            title="scale of the noise",
            safer="larger",
            low=1e-3,
            high=1e6,
            fixed_by=("challenger.release",),
        ),
        Tunable(
            key="mechanism.sigma",
            title="standard deviation of the noise",
            safer="larger",
            low=1e-3,
            high=1e6,
            fixed_by=("challenger.release",),
        ),
    ),
    function_audit="function_audit:prepare_function_audit",
)
