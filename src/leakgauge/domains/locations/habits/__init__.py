"""What a release alone says of how people move, and people made up from it."""
