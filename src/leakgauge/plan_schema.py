"""stub"""
def schema_text() -> str:
    return "{}"
