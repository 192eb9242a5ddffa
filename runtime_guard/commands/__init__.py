"""Whole programs under the guard: `devlint run`, `devlint confirm` and `devlint test`.

The modules:

    run, confirm: the commands
    expectations, attribution, verdicts: what findings look like at run time, which events they
        speak of, and what a run says of them
    program, session: a command line run in this process, and the guard around it
    line_tracer, at_hand: the lines that were executed, and whether with something on an accelerator
    children: processes that the program starts
    ranks: the evidence of several processes
    suite: the command `devlint test`, two runs of a suite held against each other
    suite_plugin, suite_records: how each test ended, from inside pytest, and as data
    suite_placement: what tests make is put on the card
"""
