"""What did the FairVGNN paper find, and what do we find? Each table and figure from runs, beside the printed one."""
