"""The membership experiments of Humphries et al. (2023): who is trained on, and whose membership is asked."""
