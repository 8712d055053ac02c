"""NodeGraph (+ model) -> what leaks: the audit of a graph, and of what a model makes of it."""
