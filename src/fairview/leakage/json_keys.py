"""Which keys of audit.json are about one sensitive attribute, and stand again under `attributes`?"""

OF_THE_GRAPH = ("groups", "group_unknown", "sensitive_channels")
"""In the document they stand in `graph`."""

BY_GROUP = ("homophily", "homophily_by_group", "channels", "degree_correlation", "probe", "undefined", "notes")
