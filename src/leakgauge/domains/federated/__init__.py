"""A dishonest server, and clients that perturb their rows before they train on them."""

from leakgauge.core.domain import Domain, Term, Tunable

APP_SERVER = "app_server"

DOMAIN = Domain(
    package=__name__,
    default_attacks=({"name": "likelihood_neuron"},),
    default_attacks_with={
        "app": ({"name": "planted_layers"},),
        "gradient_noise": ({"name": "full_gradient"},),  # far stronger there than a single neuron
    },
    lower_risk=(
        "Perturb rows with a smaller epsilon (compare “ε achieved exactly” with the stated one), or train on "
        "larger batches."
    ),
    clue_advice={
        "field": "Leave out of replies what depends on the records, such as the training loss, or give it "
        "noise that is accounted for.",
    },
    drafts="plan_draft:draft_kinds",
    plan_forms="plan_forms:plan_forms",
    knowledge_terms={
        "server": Term(
            title="server that holds the target's record",
            meaning="A server that holds the target's row and rows of its own (Nguyen et al.)",
        ),
        APP_SERVER: Term(
            title="server that runs the app and holds the target's record",
            meaning="A server that holds the target's row, rows of its own, and the app that it sends to "
            "clients",
        ),
    },
    mechanisms="plan_tables:mechanism_lines",
    tunable=(
        Tunable(
            key="mechanism.epsilon",
            title="epsilon",
            low=0.01,
            high=20.0,
            fixed_by=(
                "mechanism.scale",
                "mechanism.sigma",
                "challenger.app",
                "challenger.client_app",
                "mechanism.name=own",
            ),
        ),
        Tunable(
            key="challenger.gradient_noise.epsilon",
            title="epsilon of the gradients",
            low=0.01,
            high=100.0,
            fixed_by=("challenger.app", "challenger.client_app"),
        ),
    ),
    private_keys=("names",),
    conformance="conformance:compare_transcripts",
    studied={
        "certified_success": Term(
            title="Success, certified",
            meaning="lower bound on correct identifications (theorem 1 of Nguyen et al., corrected)",
            is_share=True,
            bound="lower",
            sentence="certified before any simulation: right {value} of the time",
            sentence_above=0.5,  # below it, guessing does as well
        ),
        "certified_tpr": Term(
            title="Active for the target",
            meaning="the probability that the chosen neuron is active for the perturbed target, at least",
            is_share=True,
            bound="lower",
        ),
        "certified_fpr": Term(
            title="Active for others",
            meaning="the probability that it is active for another perturbed row, at most",
            is_share=True,
            bound="upper",
        ),
        "certified_share": Term(
            title="Targets certified",
            meaning="share of targets for which the condition of theorem 1 holds",
            is_share=True,
        ),
        "stealth_first": Term(
            title="Distance of the first layer",
            meaning="Kolmogorov-Smirnov distance of the crafted weights from honest ones; 0 is the same "
            "distribution",
        ),
        "stealth_second": Term(
            title="Distance of the chosen neuron",
            meaning="the same for the weights of the chosen neuron",
        ),
        "whole_update": Term(
            title="Read by the whole update",
            meaning="share of targets for which noise made the attack compare the whole update",
            is_share=True,
        ),
        "certified_success_hoeffding": Term(
            title="Success, certified as in the paper",
            meaning="the same by Hoeffding's bounds, which are wider",
            is_share=True,
            bound="lower",
        ),
        "filled_share": Term(
            title="Bound filled by the target",
            meaning="the target's part of the clipped gradient, in the direction that the server reads",
            is_share=True,
        ),
        "predicted_accuracy": Term(
            title="Success, predicted",
            meaning="correct identifications by the noise distribution, if no other row activates the neuron",
            is_share=True,
        ),
        "channel_optimum": Term(
            title="Success, at most, if others send nothing",
            meaning="for a target that fills the clipping bound while all other rows send nothing; no attack "
            "that silences other rows does better, one that lets them push the other way might",
            is_share=True,
        ),
        "channel_ceiling": Term(
            title="Success, at most, by anybody",
            meaning="the same if the target turns the answer from one side of the clipping bound to the "
            "other; no attacker does better",
            is_share=True,
            bound="upper",
        ),
        "units": Term(title="Units", meaning="neurons of the first layer that the attacker sets"),
        "epochs_mean": Term(title="Epochs", meaning="passes of training after which the neuron was taken"),
        "epochs_most": Term(title="Epochs, most", meaning="the same for the target that took most"),
        "epochs_on_top_mean": Term(
            title="Epochs until on top",
            meaning="passes after which no other row had as large a value as the target",
        ),
        "separated": Term(
            title="Targets separated",
            meaning="share of targets that training separated from all rows of the attacker's own",
            is_share=True,
        ),
    },
    utility={
        "noisy": Term(
            title="Classifier right",
            meaning="share of right answers of an honest classifier trained on perturbed rows",
            is_share=True,
        ),
        "clean": Term(
            title="Without noise",
            meaning="the same for a classifier trained on rows without noise",
            is_share=True,
        ),
    },
    main_utility=("noisy",),
)
