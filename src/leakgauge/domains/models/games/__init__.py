"""The membership experiments of Humphries et al. (2023): the training rows, and the records in question."""
