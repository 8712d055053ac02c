"""One training run, or several seeds of it: the folder, its checkpoint and the evidence behind its report."""
