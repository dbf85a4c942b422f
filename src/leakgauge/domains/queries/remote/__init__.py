"""Your own service over HTTP, asked as if it were the oracle of this process."""
