"""Rows -> links: who is similar enough to be joined, where nobody has recorded the links."""
