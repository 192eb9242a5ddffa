"""The report formats: one a file, each with `render(report, options)`; `formats` lists them.

Shared: `options` (what a run asks of a report), `wording` (sentences, places and counts) and
`previews` (the lines that a fix changes). `catalogue` is of rules, not of reports.
"""
