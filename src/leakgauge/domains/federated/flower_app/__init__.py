"""A Flower app of the user, audited as it is: its project, its clients, and what is planted in its model."""
