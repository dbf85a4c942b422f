"""What is certain of a crafted neuron before any round is played."""
