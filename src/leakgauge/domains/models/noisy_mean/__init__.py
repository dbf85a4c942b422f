"""The mean of one feature, with noise: a model so simple that its noise distribution is known exactly."""
