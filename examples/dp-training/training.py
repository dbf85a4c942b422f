"""Logistic regression on a small generated table, with DP-SGD by Opacus: nothing here knows of an audit."""

import warnings

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

ROWS, BATCH, EPOCHS, CLIP = 1_000, 50, 10, 1.0
NOISE_MULTIPLIER = 1.1  # for epsilon = 4 at delta = 1e-5 after 200 steps


def train():
    """Train once, as it would be done for a release."""
    return _train()


def train_with_a_bug():
    """The same, with a third of the noise that the accountant records."""
    return _train(_add_a_third_of_the_noise)


def _train(change=None):
    rows = torch.randn(ROWS, 12)
    labels = (rows[:, 0] + rows[:, 1] + torch.randn(ROWS) > 0).long()
    model = torch.nn.Linear(12, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Opacus, about its random generator
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.2),
            data_loader=DataLoader(TensorDataset(rows, labels), batch_size=BATCH),
            noise_multiplier=NOISE_MULTIPLIER,
            max_grad_norm=CLIP,
        )
        if change is not None:
            change(optimizer)
        for _ in range(EPOCHS):
            for features, label in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(features), label).backward()
                optimizer.step()
    return model


def _add_a_third_of_the_noise(optimizer):
    def add_noise():
        scale = optimizer.noise_multiplier * optimizer.max_grad_norm / 3
        for parameter in optimizer.params:
            noise = scale * torch.randn_like(parameter.summed_grad)
            parameter.grad = (parameter.summed_grad + noise).view_as(parameter)

    optimizer.add_noise = add_noise
