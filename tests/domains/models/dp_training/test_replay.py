"""Trainings with Opacus that are private in part only, as people write them, and honest ones beside them."""

import numpy as np
import pytest

import leakgauge
from domains.models.dp_training.watched_trainings import BATCH, CLAIM, ROWS, SIGMA, STEPS, numpy_loop, watched

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
opacus = pytest.importorskip("opacus", reason="Opacus is not installed")

from opacus.data_loader import DPDataLoader  # noqa: E402
from opacus.utils.batch_memory_manager import BatchMemoryManager  # noqa: E402
from torch import nn  # noqa: E402
from torch.optim.swa_utils import AveragedModel  # noqa: E402
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of Opacus, about hooks and its random generator
EPOCHS = 3  # of ten steps
SHORT = CLAIM | {"steps": EPOCHS * ROWS // BATCH}
loss_of = nn.functional.cross_entropy


def records():
    rows = torch.randn(ROWS, 10)
    return rows, (rows[:, 0] + torch.randn(ROWS) > 0).long()


def deep():
    return nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))


def private(module, data=None, optimizer=torch.optim.SGD, **options):
    dataset = TensorDataset(*(data or records()))
    loader = options.pop("loader", None) or DataLoader(dataset, batch_size=BATCH)
    return opacus.PrivacyEngine().make_private(
        module=module,
        optimizer=optimizer(module.parameters(), lr=0.1),
        data_loader=loader,
        noise_multiplier=SIGMA,
        max_grad_norm=0.5,
        **options,
    )


def steps(model, optimizer, loader, loss=loss_of, after=lambda *_: None):
    for epoch in range(EPOCHS):
        for number, (rows, labels) in enumerate(loader):
            optimizer.zero_grad()
            loss(model(rows), labels).backward()
            optimizer.step()
            after(epoch * len(loader) + number, rows, labels)


def plain_body(every=1, kind=nn.Linear):
    """Plain SGD on what is below a private head."""
    body, head = nn.Linear(10, 8), nn.Linear(8, 2)
    plain = torch.optim.SGD(body.parameters(), lr=0.1)
    head, optimizer, loader = private(head)
    for epoch in range(EPOCHS):
        for number, (rows, labels) in enumerate(loader):
            optimizer.zero_grad()
            plain.zero_grad()
            loss_of(head(torch.relu(body(rows))), labels).backward()
            optimizer.step()
            if (epoch * len(loader) + number) % every == 0:
                plain.step()


def plain_embeddings():
    words, labels = torch.randint(0, 30, (ROWS, 4)), torch.randint(0, 2, (ROWS,))
    table, plain = nn.Embedding(30, 8), None
    plain = torch.optim.SGD(table.parameters(), lr=0.1)
    head, optimizer, loader = private(nn.Linear(8, 2), (words, labels))
    for _ in range(EPOCHS):
        for rows, label in loader:
            optimizer.zero_grad()
            plain.zero_grad()
            loss_of(head(table(rows.long()).mean(1)), label).backward()
            optimizer.step()
            plain.step()


def plain_every_tenth():
    plain_body(10)


def body_by_hand():
    """The body is changed without any optimizer."""
    body, (head, optimizer, loader) = nn.Linear(10, 8), private(nn.Linear(8, 2))
    for _ in range(EPOCHS):
        for rows, labels in loader:
            optimizer.zero_grad()
            loss_of(head(torch.relu(body(rows))), labels).backward()
            optimizer.step()
            for parameter in body.parameters():
                parameter.data -= 0.1 * parameter.grad
                parameter.grad = None


def without_noise(model, loader):
    plain, module = torch.optim.SGD(model.parameters(), lr=0.1), model._module
    for rows, labels in loader:
        plain.zero_grad()
        loss_of(nn.functional.linear(rows, module.weight, module.bias), labels).backward()
        plain.step()


def plain_in_the_end():
    model, optimizer, loader = private(nn.Linear(10, 2))
    steps(model, optimizer, loader)
    without_noise(model, loader)


def inner_optimizer_by_itself():
    model, optimizer, loader = private(nn.Linear(10, 2))

    def after(number, rows, labels):
        if number % 10 == 9:
            optimizer.zero_grad()
            loss_of(model(rows), labels).backward()
            optimizer.original_optimizer.step()

    steps(model, optimizer, loader, after=after)


def first_steps_plain():
    """Trained by the same loader before the first noisy step."""
    model, optimizer, loader = private(nn.Linear(10, 2))
    without_noise(model, loader)
    steps(model, optimizer, loader)


def batch_norm_below():
    body, (head, optimizer, loader) = (
        nn.Sequential(nn.Linear(10, 8), nn.BatchNorm1d(8)),
        private(nn.Linear(8, 2)),
    )
    for _ in range(EPOCHS):
        for rows, labels in loader:
            optimizer.zero_grad()
            with torch.no_grad():
                features = body(rows)
            loss_of(head(features), labels).backward()
            optimizer.step()


class RunningMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(10, 2)
        self.register_buffer("mean", torch.zeros(10))

    def forward(self, rows):
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * rows.mean(0).detach()
        return self.linear(rows - self.mean)


def running_mean():
    steps(*private(RunningMean()))


class ReadsTheSum(torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure=None):
        super().step(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter -= 1e-3 * parameter.summed_grad.view_as(parameter)


def optimizer_reads_the_sum():
    steps(*private(nn.Linear(10, 2), optimizer=ReadsTheSum))


def stops_when_the_loss_is_small():
    model, optimizer, loader = private(nn.Linear(10, 2))
    losses = []

    def loss(said, labels):
        losses.append(loss_of(said, labels))
        return losses[-1]

    def after(*_):
        for group in optimizer.original_optimizer.param_groups:
            group["lr"] = 0.1 * float(losses[-1].detach())

    steps(model, optimizer, loader, loss, after)


def means_beside_the_model():
    model, optimizer, loader = private(nn.Linear(10, 2))
    means = torch.zeros(2, 10)

    def after(number, rows, labels):
        for label in range(2):
            means[label] += rows[labels == label].sum(0)

    steps(model, optimizer, loader, after=after)
    return {"model": model, "means": means}


class Release:
    """What a project hands out: an object of its own."""

    def __init__(self, **parts):
        self.__dict__.update(parts)


def means_in_an_object():
    found = means_beside_the_model()
    return Release(model=found["model"], means=found["means"])


def means_as_numbers():
    return {"means": means_beside_the_model()["means"].tolist()}


def most_frequent_label():
    data = records()
    steps(*private(nn.Linear(10, 2), data))
    return "positive rows: " + str(int(data[1].sum()))


class KeepsMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.mean = nn.Linear(10, 2), torch.zeros(10)

    def forward(self, rows):
        self.mean = 0.9 * self.mean + 0.1 * rows.mean(0).detach()
        return self.linear(rows)


def mean_as_an_attribute():
    made = private(KeepsMean())
    steps(*made)
    return made[0]


def on_all_rows(update, subset=False):
    """A training whose every tenth step also uses the rows of the data set beside the loader."""
    data, module = records(), nn.Linear(10, 2)
    rows = TensorDataset(*data)
    loader = DataLoader(Subset(rows, range(ROWS)) if subset else rows, batch_size=BATCH)
    model, optimizer, loader = private(module, loader=loader)
    steps(model, optimizer, loader, after=lambda n, *_: n % 10 == 9 and update(module, optimizer, *data))
    return module


def gradients_by_autograd():
    def update(module, _, rows, labels):
        weights = [module.weight, module.bias]
        found = torch.autograd.grad(loss_of(nn.functional.linear(rows, *weights), labels), weights)
        for weight, one in zip(weights, found):
            weight.data -= 0.1 * one

    on_all_rows(update)


def steps_in_closed_form(subset=False):
    @torch.no_grad()
    def update(module, _, rows, labels):
        wrong = nn.functional.linear(rows, module.weight, module.bias).softmax(1)
        module.weight -= 0.1 * (wrong - nn.functional.one_hot(labels, 2)).T @ rows / ROWS

    on_all_rows(update, subset)


def steps_in_closed_form_on_a_subset():
    steps_in_closed_form(subset=True)


def rate_by_the_loss_of_all_rows():
    @torch.no_grad()
    def update(module, optimizer, rows, labels):
        loss = loss_of(nn.functional.linear(rows, module.weight, module.bias), labels)
        for group in optimizer.param_groups:
            group["lr"] = 0.1 * float(loss)

    on_all_rows(update)


def least_squares_in_the_end():
    data, module = records(), nn.Linear(10, 2)
    steps(*private(module, data))
    weights = np.linalg.lstsq(data[0].numpy(), 2 * data[1].numpy() - 1, rcond=None)[0]
    module.weight.data.copy_(torch.tensor(np.stack([-weights, weights])))


def list_of_rows():
    rows = list(zip(*records()))
    model, optimizer, loader = private(nn.Linear(10, 2), loader=DataLoader(rows, batch_size=BATCH))
    steps(model, optimizer, loader)
    return sum(row for row, _ in rows)


def stops_by_the_sum_of_rows():
    data = records()
    model, optimizer, loader = private(nn.Linear(10, 2), data)
    for _ in range(EPOCHS):
        for number, (rows, labels) in enumerate(loader):
            optimizer.zero_grad()
            loss_of(model(rows), labels).backward()
            optimizer.step()
            if number == int(abs(data[0].sum()) * 1000) % 10:
                break


CERTAIN = [
    means_beside_the_model,
    means_in_an_object,
    means_as_numbers,
    most_frequent_label,
    mean_as_an_attribute,
    gradients_by_autograd,
    steps_in_closed_form,
    steps_in_closed_form_on_a_subset,
    rate_by_the_loss_of_all_rows,
    least_squares_in_the_end,
    list_of_rows,
    stops_by_the_sum_of_rows,
    plain_body,
    plain_embeddings,
    plain_every_tenth,
    body_by_hand,
    plain_in_the_end,
    inner_optimizer_by_itself,
    first_steps_plain,
    batch_norm_below,
    running_mean,
    optimizer_reads_the_sum,
    stops_when_the_loss_is_small,
]


@pytest.mark.parametrize("train", CERTAIN, ids=lambda train: train.__name__)
def test_rows_that_reach_parameters_without_noise_are_certain(train):
    found = watched(train, rounds=SHORT["steps"], claim=SHORT).conformance
    assert any("without noise: with equal random numbers" in text for text in found.certain), found


class CentredByBatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(10, 2)

    def forward(self, rows):
        return self.linear(rows - rows.mean(0, keepdim=True))


def batch_statistics():
    steps(*private(CentredByBatch()))


def contrastive_loss():
    def loss(said, labels):
        return loss_of(said @ said.T, torch.arange(len(said)))

    steps(*private(nn.Linear(10, 4)), loss=loss)


def copies(data):
    return [part.clone() for part in data]


def plain_in_the_end_on_other_tensors():
    data = records()
    model, optimizer, loader = private(nn.Linear(10, 2), copies(data))
    steps(model, optimizer, loader)
    without_noise(model, [data])


def body_by_hand_on_other_tensors():
    data, body = records(), nn.Linear(10, 8)
    model, optimizer, loader = private(nn.Linear(8, 2), copies(data))

    def after(*_):
        body(data[0]).square().mean().backward()
        for parameter in body.parameters():
            parameter.data -= 0.1 * parameter.grad

    for _ in range(EPOCHS):
        for rows, labels in loader:
            optimizer.zero_grad()
            loss_of(model(body(rows).detach()), labels).backward()
            optimizer.step()
            after()


def trained_before():
    data, model = records(), nn.Linear(10, 2)
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        plain.zero_grad()
        loss_of(model(data[0]), data[1]).backward()
        plain.step()
    plain.zero_grad(set_to_none=True)
    steps(*private(model, data))


DEPARTURES = {
    batch_statistics: "changes with the other rows of its batch",
    contrastive_loss: "changes with the other rows of its batch",
    plain_in_the_end_on_other_tensors: "outside of the noisy steps, and get no noise: SGD (1)",
    body_by_hand_on_other_tensors: "30 backward passes belong to no noisy step",
    trained_before: "trained before the first noisy step",
}


@pytest.mark.parametrize("train", DEPARTURES, ids=lambda train: train.__name__)
def test_what_is_seen_beside_noisy_steps_is_never_green(train):
    found = leakgauge.audit_training(train, **SHORT)
    assert any(DEPARTURES[train] in text for text in found.evidence), found.evidence
    assert (found.finding, found.about) == ("undecided", "mechanism")


def test_public_data_before_the_first_noisy_step_is_stated():
    found = leakgauge.audit_training(trained_before, pretrained="public", **SHORT)
    assert (found.about, list(found.evidence)) == (None, [])


def averaged():
    module = deep()
    average = AveragedModel(module)
    average(torch.zeros(1, 10))
    made = private(module, optimizer=torch.optim.Adam)
    steps(*made, after=lambda *_: average.update_parameters(module))
    return average, module.state_dict()


def scheduled():
    model, optimizer, loader = private(deep())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer.original_optimizer, 7)
    steps(model, optimizer, loader, after=lambda *_: scheduler.step())


def in_parts():
    model, optimizer, loader = private(deep())
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=8, optimizer=optimizer) as parts:
        steps(model, optimizer, parts)


def ghost_clipping():
    model, optimizer, loss, loader = private(
        nn.Linear(10, 2), grad_sample_mode="ghost", criterion=nn.CrossEntropyLoss()
    )
    steps(model, optimizer, loader, loss)


def frozen_body():
    body, (head, optimizer, loader) = (
        nn.Sequential(nn.Linear(10, 8), nn.BatchNorm1d(8)).eval(),
        private(nn.Linear(8, 2)),
    )
    for _ in range(EPOCHS):
        for rows, labels in loader:
            optimizer.zero_grad()
            loss_of(head(body(rows).detach()), labels).backward()
            optimizer.step()


class Texts(Dataset):
    def __init__(self):
        self.texts = [torch.randint(1, 50, (int(n),)) for n in torch.randint(2, 9, (ROWS,))]
        self.labels = torch.randint(0, 2, (ROWS,))

    def __len__(self):
        return ROWS

    def __getitem__(self, place):
        return self.texts[place], self.labels[place]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.drop, self.head = nn.Embedding(50, 6), nn.Dropout(0.2), nn.Linear(6, 2)

    def forward(self, texts):
        return self.head(self.drop(self.table(texts)).mean(1))


def texts_of_unequal_length():
    def collate(rows):
        texts = nn.utils.rnn.pad_sequence([text for text, _ in rows], batch_first=True)
        return texts, torch.stack([label for _, label in rows])

    steps(*private(Words(), loader=DataLoader(Texts(), batch_size=BATCH, collate_fn=collate)))


def returns_much():
    """All that trainings usually return, and what is computed on rows that are not private."""
    module, public = deep(), (torch.randn(50, 10), torch.randint(0, 2, (50,)))
    engine, losses = opacus.PrivacyEngine(), []
    model, optimizer, loader = engine.make_private(
        module=module,
        optimizer=torch.optim.Adam(module.parameters()),
        data_loader=DataLoader(TensorDataset(*records()), batch_size=BATCH),
        noise_multiplier=SIGMA,
        max_grad_norm=0.5,
    )

    def after(*_):
        with torch.no_grad():
            losses.append(loss_of(nn.functional.linear(public[0], module[0].weight)[:, :2], public[1]).item())

    steps(model, optimizer, loader, after=after)
    history = {"loss": losses, "best": min(losses), "note": "Adam", "epsilon": engine.get_epsilon(1e-5)}
    return Release(
        model=model, optimizer=optimizer, engine=engine, history=history, predict=lambda x: model(x)
    )


def public_rows_in_the_same_memory():
    """Rows that are not private share memory with those that are."""
    rows, labels = records()
    all_rows = torch.cat([rows, torch.randn(50, 10)])
    made = private(nn.Linear(10, 2), (all_rows[:ROWS], labels))
    steps(*made)
    return made[0], all_rows[ROWS:].mean(0)


HONEST = [
    averaged,
    scheduled,
    in_parts,
    ghost_clipping,
    frozen_body,
    texts_of_unequal_length,
    returns_much,
    public_rows_in_the_same_memory,
]


@pytest.mark.parametrize("train", HONEST, ids=lambda train: train.__name__)
def test_post_processing_of_noisy_gradients_is_not_named(train):
    found = watched(train, rounds=SHORT["steps"], claim=SHORT).conformance
    assert (found.certain, found.departures, found.unread) == ((), (), ())


def not_seeded():
    generator, module = torch.Generator(), nn.Linear(10, 2)
    generator.seed()
    with torch.no_grad():
        module.weight.copy_(torch.randn(2, 10, generator=generator))
    steps(*private(module))


def rows_beside_the_loader(known=False):
    data = records()
    model, optimizer, _ = private(nn.Linear(10, 2), data if known else copies(data))
    for _ in range(SHORT["steps"]):
        chosen = torch.rand(ROWS) < BATCH / ROWS
        optimizer.zero_grad()
        loss_of(model(data[0][chosen]), data[1][chosen]).backward()
        optimizer.step()


def known_rows_beside_the_loader():
    rows_beside_the_loader(known=True)


def returns_the_loader():
    made = private(nn.Linear(10, 2))
    steps(*made)
    return made


NOT_TRIED = {
    not_seeded: "equal seeds are not equal",
    rows_beside_the_loader: "private data loader",
    known_rows_beside_the_loader: "the rows of batches were not known",
    returns_the_loader: "what is returned (DPDataLoader)",
}


@pytest.mark.parametrize(("train", "said"), NOT_TRIED.items(), ids=[one.__name__ for one in NOT_TRIED])
def test_what_could_not_be_tried_is_named(train, said):
    found = watched(train, rounds=SHORT["steps"], claim=SHORT).conformance
    assert not found.certain
    assert [said in name for name in found.unread] == [True]


def test_rows_that_were_swapped_in_place_are_restored():
    data = records()
    kept, seen = copies(data), []

    def train():
        steps(*private(nn.Linear(10, 2), data))
        seen.append(torch.equal(data[0], kept[0]))

    watched(train, rounds=SHORT["steps"], claim=SHORT)
    assert False in seen
    assert all(torch.equal(one, two) for one, two in zip(data, kept))


def constant_generator():
    steps(*private(nn.Linear(10, 2), noise_generator=torch.Generator().manual_seed(0)))


def seed_inside():
    torch.manual_seed(0)
    steps(*private(nn.Linear(10, 2)))


def noise_by_the_data():
    with torch.random.fork_rng():
        torch.manual_seed(1)
        data = records()
    generator = torch.Generator().manual_seed(int(data[0].abs().sum() * 1000))
    steps(*private(nn.Linear(10, 2), data, noise_generator=generator))


@pytest.mark.parametrize("train", [constant_generator, seed_inside, noise_by_the_data])
def test_noise_that_is_the_same_under_other_seeds_is_certain(train):
    found = watched(train, rounds=SHORT["steps"], claim=SHORT).conformance
    assert any("The noise repeats: in 30 of 30 steps" in text for text in found.certain), found


def ghost_without_clipping():
    model, optimizer, loss, loader = private(
        nn.Linear(10, 2), grad_sample_mode="ghost", criterion=nn.CrossEntropyLoss()
    )
    model.get_clipping_coef = lambda: torch.ones_like(model.get_norm_sample())
    steps(model, optimizer, loader, loss)


def test_ghost_clipping_that_does_not_clip_is_certain():
    found = watched(ghost_without_clipping, rounds=SHORT["steps"], claim=SHORT).conformance
    assert any("gradients are not clipped one by one" in text for text in found.certain), found


def test_ghost_clipping_whose_factors_are_not_seen_is_named():
    def train():
        model, optimizer, loss, loader = private(
            nn.Linear(10, 2), grad_sample_mode="ghost", criterion=nn.CrossEntropyLoss()
        )

        class OwnPasses:
            def __init__(self, found):
                self.each = found.loss_per_sample

            def backward(self):
                self.each.mean().backward(retain_graph=True)
                optimizer.zero_grad()
                factors = model.get_clipping_coef()
                model.disable_hooks()
                (factors * self.each).sum().backward()
                model.enable_hooks()

        steps(model, optimizer, loader, lambda said, labels: OwnPasses(loss(said, labels)))

    found = watched(train, rounds=SHORT["steps"], claim=SHORT).conformance
    assert found.certain == ()
    assert any("whether gradients are clipped one by one" in name for name in found.unread), found


def test_what_loops_written_by_hand_do_beside_their_sums_is_named():
    found = watched(numpy_loop(), rounds=STEPS).conformance
    assert found.unread == ("what rows reach without noise (a loop written by hand shows its sums alone)",)


def test_sampler_at_twice_the_rate_is_accounted_again():
    def train():
        data = records()
        model, optimizer, _ = private(nn.Linear(10, 2), data)
        loader = DPDataLoader(TensorDataset(*data), sample_rate=2 * BATCH / ROWS)
        for _ in range(4):
            steps(model, optimizer, loader)

    claim = CLAIM | {"steps": 60}
    found = watched(train, rounds=60, claim=claim).conformance
    assert any("at least 0.18" in text and "and 4 is claimed" in text for text in found.certain), (
        found.certain
    )
