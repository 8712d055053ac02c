"""NodeGraph + fitted model -> which links, nodes and channels carry the gap between the groups."""
