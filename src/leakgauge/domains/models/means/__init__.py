"""The mean of a feature, with noise: a model so simple that everything about it is known exactly."""
