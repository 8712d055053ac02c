"""The loop: phases, selection rule, history, checkpoint, resume."""
