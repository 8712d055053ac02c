"""The engine of graphs that live in a cluster: Spark DataFrames in, Spark DataFrames or a propagated folder out."""
