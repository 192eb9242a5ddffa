"""The LibCST pass: from a parsed module to facts about devices. Knows no rule, no file system.

`api.infer_file` begins it, `facts.Facts` is the result. The rooms, lowest first; each may import
only those that stand above it here (`tests/test_layers.py`):

    domain: abstract values, the lattice, provenance, path conditions, assumptions
    conventions: what names, paths, comments and texts suggest, as data
    syntax: questions about a syntax tree, without devices
    confidence: how sure a set of assumptions leaves a conclusion, one table
    call_contexts: what all calls of a project hand to a parameter
    facts: what a rule may read
    program: the files, classes and functions being inferred, and the events in them
    models: transfer functions of known APIs, and unification
    interpreter: the recursion over statements, expressions, calls and attributes
    summaries: functions as others see them, and their use at each call
    collect: collectors, each of one subject: events in, facts out
    api: `infer_file`
"""
