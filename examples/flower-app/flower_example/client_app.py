"""The app that runs on every client."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from flower_example.task import Net, load_data, make_optimizer
from flower_example.task import test as test_fn
from flower_example.task import train as train_fn

app = ClientApp()


def loaders(context: Context):
    """Return the loaders of this client."""
    node, run = context.node_config, context.run_config
    return load_data(node["partition-id"], node["num-partitions"], run["batch-size"])


@app.train()
def train(msg: Message, context: Context) -> Message:
    """Train the server's model on the images of this client."""
    net, run = Net(), context.run_config
    net.load_state_dict(msg.content["arrays"].to_torch_state_dict())
    trainloader, _ = loaders(context)
    lr = msg.content["config"]["lr"]
    optimizer = make_optimizer(net, run["optimizer"], lr, run["momentum"], run["weight-decay"])
    loss = train_fn(net, trainloader, run["local-epochs"], optimizer)
    metrics = MetricRecord({"train_loss": loss, "num-examples": len(trainloader.dataset)})
    content = RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics})
    return Message(content=content, reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context) -> Message:
    """Evaluate the server's model on the test images of this client."""
    net = Net()
    net.load_state_dict(msg.content["arrays"].to_torch_state_dict())
    _, testloader = loaders(context)
    loss, right = test_fn(net, testloader)
    metrics = MetricRecord({"eval_loss": loss, "eval_acc": right, "num-examples": len(testloader.dataset)})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=msg)
