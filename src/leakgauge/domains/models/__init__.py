"""Trained classifiers, with or without noise, also where the rows they are trained on are not independent."""

from leakgauge.core.domain import Domain, ExposureSpec, Term, Tunable

_NO_NOISE = (
    "the training adds no noise, so there is no amount of it to tune; in place of this mechanism write "
    'mechanism = { name = "dp_sgd", epsilon = 1.0, delta = 1e-5, relation = "replace_one" } below [[audit]]'
)
_NO_NOISY_FOREST = (
    "random forests are trained without noise, so there is no amount of it to tune; to train a network with "
    'noise, leave out trainer and trees, and write mechanism = { name = "dp_sgd", epsilon = 1.0, '
    'delta = 1e-5, relation = "replace_one" } below [[audit]]'
)

DOMAIN = Domain(
    package=__name__,
    default_attacks=(
        {"name": "loss_threshold", "threshold": "average", "label": "loss-average"},
        {"name": "lira"},
    ),
    lower_risk=(
        "Train with more noise (smaller epsilon) or on more rows. If all members have something in common, "
        "such as one hospital, train on members who do not."
    ),
    drafts="plan_draft:draft_kinds",
    plan_forms="plan_forms:plan_forms",
    knowledge_terms={
        "black_box": Term(
            title="attacker who can query the model",
            meaning="Asks the model for probabilities, and has rows of its own",
        ),
        "training_loss": Term(
            title="attacker who can query the model and knows the members' mean loss",
            meaning="The same as a black box, and the mean loss of the members",
        ),
        "checkpoints": Term(
            title="attacker who can query the model at several epochs of its training",
            meaning="The same as a black box, for up to ten checkpoints of the training",
        ),
        "components": Term(
            title="attacker who can query the model and knows where records come from",
            meaning="The same as a black box, and which of its rows are of which component",
        ),
        "blind": Term(
            title="control: attacker who never sees the model",
            meaning="Rows of each component and the record in question, but no model: a control",
        ),
        "strong": Term(
            title="attacker who knows every other record and every training step",
            meaning="All rows but one, both candidates for it, and every step of the training",
        ),
    },
    controls=("blind",),
    private_keys=("names",),
    mechanisms="plan_tables:mechanism_lines",
    tunable=(
        Tunable(
            key="mechanism.epsilon",
            title="epsilon",
            low=0.05,
            high=20.0,
            fixed_by=("mechanism.scale", "mechanism.sigma", "challenger.train", "challenger.model"),
            obstacles={
                "challenger.trainer=random_forest": _NO_NOISY_FOREST,
                "challenger.trainer.name=random_forest": _NO_NOISY_FOREST,
                "mechanism.name=none": _NO_NOISE,
            },
        ),
    ),
    exposure=ExposureSpec(
        function="exposure:expose",
        steps=("shadow models", "records"),
        part="record",
        advice="Run leakgauge expose on this plan to see which records are at risk; it trains shadow models, "
        "so the plan must say how models are trained.",
    ),
    announces_cost="plan_tables:trains_user_code",
    model_audit="user_model.in_memory:prepare_model_audit",
    plan_choices={"trainers": "training.trainers"},
    studied={
        "component_of_model": Term(
            title="Component of a model",
            meaning="how often the attacker names the component that a model of its own was trained on",
            is_share=True,
        ),
        "component_of_record": Term(
            title="Component of a record",
            meaning="how often it names the component of a row of its own, by the row alone",
            is_share=True,
        ),
        "shadows": Term(title="Shadows", meaning="models that the attacker trained on rows of its own"),
        "rows_per_shadow": Term(title="Rows of a shadow", meaning="how many each was trained on, on average"),
        "checkpoints": Term(title="Checkpoints", meaning="epochs at which each model is seen"),
        "population": Term(
            title="Population", meaning="rows, no members, that a record is compared with in a round"
        ),
        "a": Term(
            title="a",
            meaning="how far below 1 the usual probability of a member is taken to be, as a fraction of how "
            "far below it that of others is",
        ),
        "classes_learned": Term(
            title="Classes learned", meaning="classes of which shadows had members and others to learn from"
        ),
    },
    utility={
        "members": Term(
            title="Model right about members",
            meaning="share of right answers of the model about rows it was trained on",
            is_share=True,
        ),
        "others": Term(
            title="Model right about others",
            meaning="share of right answers of the model about rows it was not trained on",
            is_share=True,
        ),
        "validation": Term(
            title="Model right about validation rows",
            meaning="share of right answers of the model about rows set aside for validation",
            is_share=True,
        ),
    },
    main_utility=("validation", "others"),
    training_audit="dp_training.function_audit:prepare_training_audit",
    conformance="dp_training.conformance:compare_transcripts",
)
