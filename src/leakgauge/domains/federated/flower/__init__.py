"""The same clients and the same server as apps of Flower, run by its simulation."""
