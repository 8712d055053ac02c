"""Files, frames and PyG objects -> NodeGraph: the graph, its links, its splits, and what is known about it."""
