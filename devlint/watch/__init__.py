"""A check that goes on while files change: what came, and what went, since the last look.

changes      the changes of files, as they come (needs watchfiles)
looks        the two looks at a change: at the saved file alone, then at all that it reaches
differences  what came and what went between two reports
"""
