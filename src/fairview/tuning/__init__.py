"""A graph and a limit in, the most useful model that keeps it out: candidates, certified choice, or a refusal."""
