"""NodeGraph -> fitted model: one file per method, under one contract."""
