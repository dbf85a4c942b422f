"""The app that runs on the server."""

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from flower_example.task import Net

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Average the models of the clients, over some rounds."""
    torch.manual_seed(0)
    run = context.run_config
    strategy = FedAvg(fraction_train=run["fraction-train"])
    strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(Net().state_dict()),
        train_config=ConfigRecord({"lr": run["learning-rate"]}),
        num_rounds=run["num-server-rounds"],
    )
