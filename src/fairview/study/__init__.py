"""Many trials: plan, journal, workers, statistics. What `compare` and the paper's reproduction share."""
