"""What are metrics called where there is little room?"""

SHORT = {
    "auc": "AUC",
    "f1": "F1",
    "accuracy": "ACC",
    "balanced_accuracy": "bal. ACC",
    "false_positive_rate": "FPR",
    "statistical_parity_gap": "SP gap",
    "equal_opportunity_gap": "EO gap",
    "equalized_odds_gap": "odds gap",
}
"""In a table's order."""
