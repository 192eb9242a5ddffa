"""The rooms of a check, which `devlint.engine` puts together.

session       one check: what its files share, and one file from source to findings
open_findings findings that wait until all calls were seen
placing       claims of rules become findings: places, traces, excerpts
fixes         the fix of a claim as edits of the file
fingerprints  the name that a finding keeps when lines move
resources     a deep stack, and no garbage collection
"""
