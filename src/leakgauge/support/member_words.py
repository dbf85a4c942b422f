"""The words by which a table says who was a member, in English, German, French, Spanish and Italian."""

MEMBER_WORDS = ("1", "1.0", "true", "yes", "y", "ja", "oui", "si", "sí", "sì", "train", "in")
NON_MEMBER_WORDS = ("0", "0.0", "false", "no", "n", "nein", "non", "test", "out")
REFERENCE_WORDS = ("", "reference")  # of rows of the attacker, which are not in question
ACCEPTED_WORDS = (
    "1 or 0, true or false, yes or no (y, n), ja or nein, oui or non, si or no, train or test, in or out"
)


def is_member(text: str) -> bool | None:
    """Whether a text says that a row is a member; nothing where it is none of the words.

    >>> is_member("Ja"), is_member(" test"), is_member("maybe")
    (True, False, None)
    """
    word = text.strip().lower()
    return True if word in MEMBER_WORDS else False if word in NON_MEMBER_WORDS else None
