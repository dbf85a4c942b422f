"""Counts per place and hour, or per cell of another table, of the people in a group."""

from leakgauge.core.domain import Domain, ExposureSpec, Term, Tunable
from leakgauge.domains.locations.utility_terms import UTILITY_TERMS

DOMAIN = Domain(
    package=__name__,
    default_attacks=(
        {"name": "likelihood", "knowledge": "informed"},
        {"name": "likelihood", "knowledge": "auxiliary"},
        {"name": "likelihood", "knowledge": "zero"},
        {"name": "one_threshold", "knowledge": "auxiliary"},
    ),
    lower_risk=(
        "Add noise (smaller epsilon) or count less per person (per_day, per_user). Publish longer periods, "
        "best together with larger or fewer places (epoch, grid, top in the plan), so that each person is in "
        "fewer counts; larger places alone help less."
    ),
    drafts="plan_draft:draft_kinds",
    plan_forms="plan_forms:plan_forms",
    knowledge_terms={
        "informed": Term(
            title="attacker who knows everyone else's data",
            meaning="Holds the data of everybody else in the group",
        ),
        "partial": Term(
            title="attacker who knows the data of some of the others",
            meaning="Holds the traces of a share theta of the others in the group, and of people like them",
        ),
        "auxiliary": Term(
            title="attacker with data of similar people",
            meaning="Holds the data of other people, like those in the group (Knock-Knock)",
        ),
        "past": Term(
            title="attacker with earlier releases",
            meaning="Holds earlier releases, and knows in which of them each target was (Knock-Knock)",
        ),
        "zero": Term(
            title="attacker who has only the release",
            meaning="Holds a part of the target's data and sees the release; nothing else",
        ),
        "friends": Term(
            title="attacker who knows the target's friends",
            meaning="Holds traces of the target's friends and of other people, not of the target (LocMIA)",
        ),
    },
    mechanisms="plan_tables:mechanism_lines",
    complete_challenger="default_splits:complete_challenger",
    count_audit="frame_audit:prepare_count_audit",
    utility=UTILITY_TERMS,
    main_utility=("mean_absolute_error",),
    useful_if_below=("typical_error", "largest_useful_error"),
    private_keys=("names",),
    private_knowledge_keys=("friends",),
    exposure=ExposureSpec(
        function="exposure:expose",
        steps=("informed", "auxiliary", "zero", "promises"),
        part="cell",
        attackers=("informed", "auxiliary", "zero"),
        computed="tunable_settings:computed_exposure",
    ),
    tunable=(
        Tunable(
            key="mechanism.epsilon",
            title="epsilon",
            low=0.001,
            high=20.0,
            fixed_by=(
                "mechanism.scale",
                "mechanism.sigma",
                "mechanism.name=own",
            ),
        ),
        Tunable(
            key="mechanism.scale",
            title="scale of the noise",
            safer="larger",
            low=0.05,
            high=1000.0,
            fixed_by=("mechanism.name=own",),
        ),
        Tunable(
            key="mechanism.sigma",
            title="standard deviation of the noise",
            safer="larger",
            low=0.05,
            high=1000.0,
            fixed_by=("mechanism.name=own",),
        ),
        Tunable(
            key="mechanism.suppress",
            title="suppress",
            safer="larger",
            values=(0, 1, 2, 3, 5, 10),
            absent=0,
            by_default=False,
            fixed_by=("mechanism.name=own",),
        ),
        Tunable(
            key="mechanism.unit",
            title="unit",
            safer="later",
            values=("event", "user-day", "user"),
            by_default=False,
            fixed_by=("mechanism.name=own",),
        ),
        Tunable(
            key="data.grid",
            title="grid",
            safer="later",
            steps="tunable_settings:coarser_grids",
            by_default=False,
            if_useless=True,
            compare_by="relative_error",
        ),
        Tunable(
            key="data.epoch",
            title="epoch",
            safer="later",
            steps="tunable_settings:longer_epochs",
            absent="1h",
            by_default=False,
            if_useless=True,
            fixed_by=("data.source=synthetic",),
            compare_by="relative_error",
        ),
        Tunable(
            key="challenger.per_day",
            title="visits of a person counted per day",
            safer="later",
            steps="tunable_settings:smaller_caps",
            absent=16,
            by_default=False,
            if_useless=True,
            fixed_by=("mechanism.unit=user",),
        ),
        Tunable(
            key="challenger.per_user",
            title="visits of a person counted",
            safer="later",
            steps="tunable_settings:smaller_caps",
            by_default=False,
            if_useless=True,
        ),
    ),
)
