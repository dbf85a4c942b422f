"""A query service that answers noisy counts and sums of chosen records of a table."""

from leakgauge.core.domain import Domain, ExposureSpec, ServerSpec, Term, Tunable

_CACHE = "Key the cache of the service by the question, not by answers or records."
_ERRORS = "Let the service fail alike with and without the target: its errors now tell who is in the table."
_REFUSALS = "Let the service refuse alike with and without the target, by the question or by a noisy answer."
_LOW_BITS = (
    "Draw the noise of the service from a discrete distribution, or round every answer, after its noise was "
    "added, to a fixed grid such as multiples of 1/1024: the last bits of its answers now reveal the target."
)
_SIZES = (
    "Let the service add noise of the stated scale to every answer: single answers now reveal more than the "
    "stated ε of one answer allows."
)
_TIMES = "Let the service answer equally fast with and without the target, such as after a fixed time."

DOMAIN = Domain(
    package=__name__,
    default_attacks=(
        {"name": "split_likelihood"},
        {"name": "split_midpoint"},
        {"name": "split_t_test"},
    ),
    lower_risk_of_plan="plan_advice:lower_risk",
    round_term_of_plan="plan_advice:round_term",
    conformance_advice={
        "repeated_for_data": _CACHE,
        "reused_noise": "Draw new noise for every question, and repeat an answer only for the same question.",
        **dict.fromkeys(("errors", "errors_beyond_promise"), _ERRORS),
        **dict.fromkeys(("refusals", "refusals_beyond_promise"), _REFUSALS),
        **dict.fromkeys(("response_times", "response_times_beyond_promise"), _TIMES),
        "low_order_bits": _LOW_BITS,
        "answer_sizes": _SIZES,
    },
    drafts="plan_draft:draft_kinds",
    plan_forms="plan_forms:plan_forms",
    knowledge_terms={
        "known": Term(
            title="attacker who knows other records",
            meaning="Holds some records that are certainly in the table, and the targets' own (Huang et al.)",
        ),
        "attributes": Term(
            title="attacker who knows other people's attributes",
            meaning="Knows some columns of people who are certainly in the table, and of the targets; no ids",
        ),
    },
    studied={
        "not_isolated": Term(
            title="Not isolated",
            meaning="share of the targets about whom nothing can be asked: no predicate over the known "
            "columns selects them without people whom the attacker does not know",
            is_share=True,
            sentence="{value} of the targets cannot be isolated by the columns that the attacker knows, and "
            "nothing was asked about them. Asked: {event}",
        ),
        "least_squares_expected": Term(
            title="Expected by least squares",
            meaning="share of the targets that least squares recovers from the same questions, by theory: "
            "the limit of many questions and targets",
            is_share=True,
            sentence="By theory, least squares recovers {value} of the targets. Asked: {event}",
        ),
        "recovery_allowed": Term(
            title="Allowed by the noise",
            meaning="share that no attacker can exceed with these answers, even if it knew of everybody "
            "but the target in question who is in the table",
            is_share=True,
            bound="upper",
        ),
    },
    mechanisms="plan_tables:mechanism_lines",
    tunable=(
        Tunable(
            key="challenger.budget",
            title="budget",
            low=0.001,
            high=100.0,
            fixed_by=("challenger.service", "challenger.accountant=none"),
            compare_by="paid_answers",
        ),
        Tunable(
            key="mechanism.epsilon",
            title="epsilon of one answer",
            low=0.001,
            high=20.0,
            by_default=False,
            fixed_by=("mechanism.scale", "mechanism.sigma", "challenger.service", "mechanism.name=opendp"),
            compare_by="answer_error",
        ),
        Tunable(
            key="mechanism.scale",
            title="scale of the noise",
            safer="larger",
            low=0.05,
            high=1e6,
            by_default=False,
            fixed_by=("challenger.service", "mechanism.name=opendp"),
            compare_by="answer_error",
        ),
    ),
    utility={
        "paid_answers": Term(
            title="Answers", meaning="how many answers about one record the budget pays for", is_count=True
        ),
        "answer_error": Term(
            title="An answer is off by",
            meaning="the mean of the absolute noise of one answer to the question of the plan",
            lower_is_better=True,
        ),
    },
    plan_choices={"accountants": "accountants"},
    private_keys=("names",),
    masked_keys={"where": "query:without_values"},
    log_exposure=ExposureSpec(
        function="log.exposure:expose_log_at",
        steps=("files", "accounts", "best attack", "tight composition"),
        part="answer",
    ),
    conformance="conformance:compare_transcripts",
    query_audit="frame_audit:prepare_query_audit",
    server=ServerSpec(
        function="service.server:serve_challenger",
        check_libraries="service.server:require_fastapi",
        omitted_keys=("service", "own_service"),
    ),
    spending={
        "obtained": Term(
            title="Obtained", meaning="the ε of all answers whose questions were about a target, added up"
        ),
        "believed": Term(
            title="Recorded", meaning="what the accountant that the plan states records for these answers"
        ),
        "reported": Term(title="Reported", meaning="what the service itself says in its replies"),
        "none": Term(title="None", meaning="nothing is counted, and nothing is ever refused"),
        "per_predicate": Term(
            title="Per predicate",
            meaning="an answer costs every record that its predicate could select, present or not (parallel "
            "composition, McSherry 2009)",
        ),
        "per_row": Term(
            title="Per row",
            meaning="an answer costs the records that are present and selected, so that refusals depend on "
            "who is present (Huang et al.)",
        ),
        "sequential": Term(
            title="Sequential", meaning="every answer costs its ε (sequential composition, Dwork et al. 2006)"
        ),
    },
    spending_note=(
        "A query service records the ε that it spends, and refuses to answer when its budget is spent. What "
        "an attacker obtained is the ε of all answers about a target, added up: this is what matters to that "
        "target. What was recorded is what the accountant that the plan states counts for them. Where an "
        "attacker obtained more in some session than the accountant ever recorded, the accounting "
        "is wrong, and the number is marked. What was reported is what the service says in its replies, if "
        "it says so. The other columns show what each accountant would have recorded for the same answers."
    ),
    spending_check=("obtained", "believed"),
    spending_beside=("reported",),
)
