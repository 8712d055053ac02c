"""What a release is built with: versions with hashes, a list of what is in it, known weaknesses of what it needs."""
