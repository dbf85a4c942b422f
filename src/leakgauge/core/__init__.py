"""The membership game: roles, guarantees, random streams, errors, exposure; imports no other package."""
