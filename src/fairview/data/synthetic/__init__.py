"""Dials -> NodeGraph: graphs whose unfairness is known because it was put there."""
