"""Tables of people and cells without times: products bought, answers given, alleles carried."""
