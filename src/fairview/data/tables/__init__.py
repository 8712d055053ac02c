"""Own tables -> NodeGraph: cells, roles, features, scaling, edges, and the recipe that reads new tables alike."""
