"""The clients and the server as Flower apps, run by Flower's simulation."""
