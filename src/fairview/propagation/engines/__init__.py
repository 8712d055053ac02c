"""Engines: the same propagated folder, made in memory, beyond it, or on a cluster."""
