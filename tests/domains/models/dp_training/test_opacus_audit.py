"""Opacus as it is: honest trainings, and the bugs that people write around it."""

import tomllib
from pathlib import Path

import pytest

import leakgauge
from domains.models.dp_training.watched_trainings import (
    BATCH,
    CLAIM,
    ROWS,
    SIGMA,
    STEPS,
    opacus_training,
    watched,
)
from leakgauge.core.errors import BadInput
from leakgauge.domains.models.dp_training.claim import TrainingClaim
from leakgauge.domains.models.training.schedule import BatchSampling
from leakgauge.plan import plan_of
from leakgauge.risk import ANY_ATTACKER

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("opacus", reason="Opacus is not installed")

ERROR = 0.0005  # of the tests at confidence .999
SHUFFLED = CLAIM | {"sampling": "shuffled"}


def shuffled_sigma():
    return TrainingClaim(**(CLAIM | {"sampling": BatchSampling.SHUFFLED})).needed_sigma


def accused(found):
    decided = found.decided(ERROR)
    return bool(decided.violations or decided.departures)


HONEST = {
    "poisson": (lambda: opacus_training(), CLAIM, {}),
    "shuffled": (lambda: opacus_training(poisson=False, sigma=shuffled_sigma()), SHUFFLED, {}),
    "ghost": (lambda: opacus_training(grad_sample_mode="ghost"), CLAIM, {}),
}


@pytest.mark.parametrize("how", ["poisson", "shuffled", "ghost"])
def test_honest_training_shows_nothing(how):
    make, claim, options = HONEST[how]
    found = watched(make(), claim=claim, **options)
    assert not accused(found), found.decided(ERROR)
    assert 0.5 < found.accuracy < 0.8


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["poisson", "shuffled"])
def test_honest_training_is_accused_at_most_once_in_60_audits(how):
    make, claim, options = HONEST[how]
    assert sum(accused(watched(make(), seed=seed, claim=claim, **options)) for seed in range(60)) <= 1


def test_third_of_the_noise_is_found_and_the_accountant_said_so():
    found = watched(opacus_training(scale=1 / 3))
    assert found.p_value("too_little_noise") < 1e-12
    assert found.p_value("step_guesses") < ERROR
    assert "recorded a noise multiplier of 0.462" in found.conformance.certain[0]


def test_canary_is_always_seen_without_noise():
    assert watched(opacus_training(scale=1e-6), rounds=20).accuracy == 1.0


def noise_for_a_mean(optimizer):
    """Bug: noise for the mean of a batch, added to the sum."""

    def add_noise():
        scale = optimizer.noise_multiplier * optimizer.max_grad_norm / optimizer.expected_batch_size
        for parameter in optimizer.params:
            noise = scale * torch.randn_like(parameter.summed_grad)
            parameter.grad = (parameter.summed_grad + noise).view_as(parameter)

    optimizer.add_noise = add_noise


def clipping_the_batch(optimizer):
    """Bug: the sum of all gradients is clipped, as torch.nn.utils.clip_grad_norm_ does."""

    def clip_and_accumulate():
        sums = [gradients.sum(dim=0) for gradients in optimizer.grad_samples]
        length = torch.stack([total.norm() for total in sums]).norm()
        for parameter, total in zip(optimizer.params, sums):
            parameter.summed_grad = total * (optimizer.max_grad_norm / length).clamp(max=1.0)

    optimizer.clip_and_accumulate = clip_and_accumulate


def clipping_to_another_length(optimizer):
    """Not as stated, though no bug: gradients are clipped to half of the length that the noise is for."""
    clip, original = optimizer.max_grad_norm, optimizer.clip_and_accumulate

    def clip_and_accumulate():
        optimizer.max_grad_norm = clip / 2
        original()
        optimizer.max_grad_norm = clip

    optimizer.clip_and_accumulate = clip_and_accumulate


def accountant_not_stepped(optimizer):
    """Bug: a hook of one's own replaces that of the accountant."""
    optimizer.attach_step_hook(lambda optimizer: None)


def noise_used_again(optimizer):
    """Bug: the generator of the noise is seeded in every step."""
    original = optimizer.add_noise

    def add_noise():
        torch.manual_seed(1)
        original()

    optimizer.add_noise = add_noise


def noise_used_twice(optimizer):
    """Bug: the noise is drawn in every second step only."""
    original, state = optimizer.add_noise, []

    def add_noise():
        if len(state) % 2 == 0:
            state.append(torch.get_rng_state())
        else:
            torch.set_rng_state(state[-1])
            state.append(None)
        original()
        if len(state) % 2 == 0:
            torch.manual_seed(len(state))

    optimizer.add_noise = add_noise


def divided_by_the_batch(optimizer):
    """Bug: the noisy sum is divided by the number of examples that are really in the batch."""

    def scale_grad():
        n = len(optimizer.grad_samples[0])
        for parameter in optimizer.params:
            parameter.grad /= n

    optimizer.scale_grad = scale_grad


def clipping_each_value(optimizer):
    """Bug: each value of a gradient is clipped, so that its length is that times the root of their number."""

    def clip_and_accumulate():
        for parameter, gradients in zip(optimizer.params, optimizer.grad_samples):
            clipped = gradients.clamp(-optimizer.max_grad_norm, optimizer.max_grad_norm)
            parameter.summed_grad = clipped.sum(dim=0)

    optimizer.clip_and_accumulate = clip_and_accumulate


def clipping_each_parameter(optimizer):
    """Bug: the gradient of each parameter is clipped to the whole length."""

    def clip_and_accumulate():
        for parameter, gradients in zip(optimizer.params, optimizer.grad_samples):
            lengths = gradients.flatten(1).norm(dim=1).clamp(min=1e-12)
            factors = (optimizer.max_grad_norm / lengths).clamp(max=1.0)
            parameter.summed_grad = torch.tensordot(factors, gradients, dims=1)

    optimizer.clip_and_accumulate = clip_and_accumulate


def changed_noise(change):
    def plant(optimizer):
        number = []

        def add_noise():
            scale = optimizer.noise_multiplier * optimizer.max_grad_norm
            number.append(0)
            for parameter in optimizer.params:
                noise = change(torch.randn_like(parameter.summed_grad), len(number))
                parameter.grad = (parameter.summed_grad + scale * noise).view_as(parameter)

        optimizer.add_noise = add_noise

    plant.__name__ = change.__name__
    return plant


@changed_noise
def truncated(noise, number):
    return noise.clamp(-1.5, 1.5) * 1.2


@changed_noise
def rounded(noise, number):
    return (noise * 8).round() / 8 * 1.01


@changed_noise
def missing_in_a_coordinate(noise, number):
    noise = 1.2 * noise
    noise.view(-1)[:5] = 0
    return noise


@changed_noise
def missing_in_one_step(noise, number):
    return noise * (number != 57)


VIOLATIONS = {
    clipping_each_value: "not clipped one by one",
    clipping_each_parameter: "not clipped one by one",
    truncated: "noise is truncated at",
    rounded: "noise is rounded to few values",
    missing_in_a_coordinate: "oise is missing in some",
    missing_in_one_step: "1 of 100 steps add no noise",
    noise_for_a_mean: "less noise than accounted",
    clipping_the_batch: "not clipped one by one",
    noise_used_again: "same noise is in several steps",
    noise_used_twice: "same noise is in several steps",
}
DEPARTURES = {
    accountant_not_stepped: f"recorded 0 of {STEPS} noisy steps",
    clipping_to_another_length: "not that of gradients clipped one by one",
    divided_by_the_batch: "divided by the actual number",
}


@pytest.mark.parametrize("bug", VIOLATIONS, ids=lambda bug: bug.__name__)
def test_bug_is_a_certain_violation(bug):
    found = watched(opacus_training(change=bug)).decided(ERROR)
    assert any(VIOLATIONS[bug] in text for text in found.violations), found
    assert found.certain


@pytest.mark.parametrize("bug", DEPARTURES, ids=lambda bug: bug.__name__)
def test_bug_is_certainly_not_as_stated(bug):
    found = watched(opacus_training(change=bug))
    assert any(DEPARTURES[bug] in text for text in found.conformance.departures), found.conformance


def test_shuffled_batches_under_a_poisson_claim_are_certain():
    found = watched(opacus_training(poisson=False))
    (text,) = found.conformance.departures
    assert "batches have a constant size" in text
    assert "at most" in text
    assert not found.decided(ERROR).violations  # it is not known whether epsilon is larger


def test_more_steps_than_claimed_are_certain():
    found = watched(opacus_training(steps=3 * STEPS), rounds=3 * STEPS)
    assert any("took 300 noisy steps" in text for text in found.conformance.certain)


def test_more_steps_with_more_noise_are_not_called_a_larger_epsilon():
    found = watched(opacus_training(steps=3 * STEPS, scale=2.5), rounds=3 * STEPS)
    assert not found.conformance.certain


def test_rate_is_that_of_the_sampler():
    rate = BATCH / (ROWS - 20)  # as if there were fewer rows; Opacus makes 10 batches of those as well
    found = watched(opacus_training(steps=50), rounds=50, claim=CLAIM | {"sample_rate": rate})
    assert found.p_value("too_little_noise") == pytest.approx(
        watched(opacus_training(steps=50), rounds=50).p_value("too_little_noise")
    )


def test_batches_without_examples_are_steps():
    found = watched(opacus_training(batch=2, steps=40), rounds=40, claim=CLAIM | {"sample_rate": 2 / ROWS})
    assert len(found.scores) == 40
    assert not any("one by one" in text for text in found.conformance.departures)


def noise_that_shrinks(optimizer):
    step = optimizer.step

    def shrinking(*arguments):
        stepped = step(*arguments)
        optimizer.noise_multiplier *= 0.99
        return stepped

    optimizer.step = shrinking


def test_noise_multiplier_that_changes_is_refused():
    with pytest.raises(BadInput, match="changes between steps"):
        watched(opacus_training(change=noise_that_shrinks))


def test_clipping_of_each_layer_is_refused():
    with pytest.raises(BadInput, match="each layer"):
        watched(opacus_training(clipping="per_layer", max_grad_norm=[0.3, 0.4]))


def test_higher_rate_than_claimed_is_certain():
    found = watched(opacus_training(), claim=CLAIM | {"sample_rate": 0.05, "noise_multiplier": SIGMA})
    assert any("recorded a sample rate of 0.1" in text for text in found.conformance.departures)


def test_lower_recorded_rate_makes_its_epsilon_too_small():
    found = watched(opacus_training(), claim=CLAIM | {"sample_rate": 0.15})
    (text,) = [text for text in found.conformance.departures if "recorded a sample rate" in text]
    assert "recorded a sample rate of 0.1, below the 0.15 of the claim" in text
    assert "that it reports is too small" in text


def test_virtual_batches_are_one_step():
    found = watched(opacus_training(steps=30, physical_batch=8), rounds=30)
    assert not accused(found), found.decided(ERROR)
    assert len(found.scores) == 30


def test_guesses_about_one_step_are_no_proof_about_the_whole_training(tmp_path):
    """The noise of one step allows 67.6 %, and an attacker who sees all 200 of them far more."""
    folder = Path(__file__).parents[4] / "examples" / "dp-training"
    table = tomllib.loads((folder / "plan.toml").read_text("utf-8"))
    plan = {**table, "audit": table["audit"][:1], "limits": {"accuracy": 0.9}}
    result = leakgauge.run(plan_of(plan, folder=folder), out=tmp_path / "run")
    assert (result.summary.exit_code, result.summary.risk.status) == (3, "undecided")
    assert "one step of 200" in result.summary.risk.reason
    assert result.summary.risk.scope != ANY_ATTACKER
