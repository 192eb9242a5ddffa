"""devlint's own rules: one file a rule, each with one `RULE`.

A rule reads the facts that the inference found and decides what to claim: severity, confidence,
message, trace, advice and fix. It infers nothing itself.
"""
