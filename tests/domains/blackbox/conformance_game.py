"""The game in which every attack on blackbox is tested."""


def tables(noise, folder, attack):
    """Two inputs that differ in two numbers."""
    return {"challenger": {"pair": [[0, 0], [1, 1]]}, "mechanism": {"name": "laplace", "scale": noise}}
