"""The model, the data and the training of the clients."""

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset, random_split

CLASSES, SIDE, ROWS = 4, 12, 60


class Net(nn.Module):
    """A small convolutional network."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.fc1 = nn.Linear(8 * 3 * 3, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, CLASSES)

    def forward(self, x):
        """Return the logits of the classes."""
        x = self.pool(functional.relu(self.conv1(x)))
        x = functional.relu(self.conv2(x)).flatten(1)
        x = functional.relu(self.fc1(x))
        x = functional.relu(self.fc2(x))
        return self.fc3(x)


def images(partition_id: int) -> TensorDataset:
    """Generate the images of one client: a bright bar whose place is the class, and much clutter."""
    rng = torch.Generator().manual_seed(1_000 + partition_id)
    labels = torch.randint(CLASSES, (ROWS,), generator=rng)
    pixels = torch.rand((ROWS, 1, SIDE, SIDE), generator=rng)
    for image, label in zip(pixels, labels):
        image[0, 3 * label : 3 * label + 2] += 0.7
    return TensorDataset((pixels - 0.6) / 0.4, labels)


def load_data(partition_id: int, num_partitions: int, batch_size: int):
    """Return the loaders of one client's training and test images."""
    if not 0 <= partition_id < num_partitions:
        raise ValueError(f"no partition {partition_id} of {num_partitions}")
    parts = random_split(images(partition_id), [0.8, 0.2], torch.Generator().manual_seed(42))
    return DataLoader(parts[0], batch_size=batch_size, shuffle=True), DataLoader(parts[1], batch_size=32)


def make_optimizer(net, name, lr, momentum, weight_decay):
    """Return the optimiser that the run config names."""
    if name == "adamw":
        return torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=weight_decay)
    return torch.optim.SGD(net.parameters(), lr=lr, momentum=momentum, weight_decay=weight_decay)


def train(net, trainloader, epochs, optimizer):
    """Train the network on the training set, and return the mean loss."""
    net.train()
    total, batches = 0.0, 0
    for _ in range(epochs):
        for images, labels in trainloader:
            optimizer.zero_grad()
            loss = functional.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
            total, batches = total + loss.item(), batches + 1
    return total / batches


def test(net, testloader):
    """Return the loss and the share of right answers on the test set."""
    net.eval()
    with torch.no_grad():
        pairs = [(net(images), labels) for images, labels in testloader]
    loss = sum(functional.cross_entropy(outputs, labels, reduction="sum").item() for outputs, labels in pairs)
    right = sum((outputs.argmax(1) == labels).sum().item() for outputs, labels in pairs)
    return loss / len(testloader.dataset), right / len(testloader.dataset)
