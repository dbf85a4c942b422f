"""What Adult calls the values of the census files of KDD: both come from the same survey."""

NOT_ASKED, UNKNOWN = "Not-in-universe", "Unknown"
SOUTH = "South"  # what is left of South Korea in Adult

WORKCLASS = {
    "Federal government": "Federal-gov",
    "Local government": "Local-gov",
    "Never worked": "Never-worked",
    "Not in universe": NOT_ASKED,
    "Private": "Private",
    "Self-employed-incorporated": "Self-emp-inc",
    "Self-employed-not incorporated": "Self-emp-not-inc",
    "State government": "State-gov",
    "Without pay": "Without-pay",
}
EDUCATION = {
    "Children": "Children",  # Adult has none
    "Less than 1st grade": "Preschool",
    "1st 2nd 3rd or 4th grade": "1st-4th",
    "5th or 6th grade": "5th-6th",
    "7th and 8th grade": "7th-8th",
    "9th grade": "9th",
    "10th grade": "10th",
    "11th grade": "11th",
    "12th grade no diploma": "12th",
    "High school graduate": "HS-grad",
    "Some college but no degree": "Some-college",
    "Associates degree-occup /vocational": "Assoc-voc",
    "Associates degree-academic program": "Assoc-acdm",
    "Bachelors degree(BA AB BS)": "Bachelors",
    "Masters degree(MA MS MEng MEd MSW MBA)": "Masters",
    "Prof school degree (MD DDS DVM LLB JD)": "Prof-school",
    "Doctorate degree(PhD EdD)": "Doctorate",
}
MARITAL_STATUS = {
    "Divorced": "Divorced",
    "Married-A F spouse present": "Married-AF-spouse",
    "Married-civilian spouse present": "Married-civ-spouse",
    "Married-spouse absent": "Married-spouse-absent",
    "Never married": "Never-married",
    "Separated": "Separated",
    "Widowed": "Widowed",
}
OCCUPATION = {
    "Adm support including clerical": "Adm-clerical",
    "Armed Forces": "Armed-Forces",
    "Executive admin and managerial": "Exec-managerial",
    "Farming forestry and fishing": "Farming-fishing",
    "Handlers equip cleaners etc": "Handlers-cleaners",
    "Machine operators assmblrs & inspctrs": "Machine-op-inspct",
    "Not in universe": NOT_ASKED,
    "Other service": "Other-service",
    "Precision production craft & repair": "Craft-repair",
    "Private household services": "Priv-house-serv",
    "Professional specialty": "Prof-specialty",
    "Protective services": "Protective-serv",
    "Sales": "Sales",
    "Technicians and related support": "Tech-support",
    "Transportation and material moving": "Transport-moving",
}
RACE = {
    "Amer Indian Aleut or Eskimo": "Amer-Indian-Eskimo",
    "Asian or Pacific Islander": "Asian-Pac-Islander",
    "Black": "Black",
    "Other": "Other",
    "White": "White",
}
SEX = {"Female": "Female", "Male": "Male"}
COUNTRY = {  # all others have the same name in both
    "?": UNKNOWN,
    "Hong Kong": "Hong",
    "Outlying-U S (Guam USVI etc)": "Outlying-US(Guam-USVI-etc)",
    "South Korea": "South-Korea",
}
INCOME = {"- 50000.": "<=50K", "50000+.": ">50K"}
