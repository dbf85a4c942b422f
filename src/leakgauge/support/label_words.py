"""Names of columns of classes, in English, German, French, Spanish and Italian, without accents."""

CLASS_WORDS = (
    *("label", "class", "target", "y"),
    *("klasse", "zielvariable", "etiquette", "classe", "cible", "etiqueta", "clase", "objetivo"),
    "etichetta",
)
LABEL_WORDS = (  # also what a model of people predicts
    *CLASS_WORDS,
    *("outcome", "income", "diagnosis", "survived", "default", "churn", "ergebnis", "diagnose", "resultat"),
    *("diagnostic", "resultado", "diagnostico", "esito", "diagnosi"),
)
