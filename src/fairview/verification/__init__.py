"""Is a folder what was written, and do its numbers follow from it? One file for each kind of folder."""
