"""Witnesses for findings that no program was given for: `devlint confirm --drive`.

A finding's function or class is called with arguments made up for it, on virtual cards, in a
process of its own.  The modules, lowest first:

    values: arguments as text
    names, uses: what names and uses of a parameter say of it
    docstrings: types that a docstring names
    plan: what is to be called
    scenario: on which machine, under which assumptions
    expressions: code of other files, written to stand for itself
    examples: calls that the project makes already
    files, objects: what a call reads, and what it finds around it
    arguments: what each parameter may be
    program: the text of a call
    sooner: a bug that shows before the line at which it is told
    shape_words, repair: what to try otherwise when it fails
    search: call after call
    process: a process with limits
    child, replay: what runs in it
    witness: the script that is kept
    verdict: confirmed, refuted, or could not be driven
    command: what the user is told
"""
