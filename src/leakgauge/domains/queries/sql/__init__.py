"""SQL predicates: parsing, checks, normal form and comparison."""
