"""Which method gives the most useful predictions under a limit on a gap, if all have the same seconds?"""
