"""Whole programs under the guard: `devlint run` and `devlint confirm`.

The modules:

    run, confirm: the commands
    program, session: a command line run in this process, and the guard around it
    children: processes that the program starts
    ranks: the evidence of several processes
"""
