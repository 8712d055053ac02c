"""fairview."""
