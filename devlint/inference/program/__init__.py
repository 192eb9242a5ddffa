"""The program being inferred: files, classes, functions, frames, and what happens in them.

Its modules:

    records: files, classes, functions, frames, the values that refer to them, and `Interpreter`
    loops: loops being walked, and environments
    events: what happens, for those who listen
    predicates, tests: what conditions ask, and how those around a place came out
    shape_tests: what comparisons say of the dimensions and elements of a tensor
    environments: where branches meet
    constructors, roles: functions that build, prepare, evaluate, run once per step
    class_state: attributes that only a constructor sets
    device_awareness: code that is written with devices in mind
    accelerator_notes: accelerators that a file names, as noted on the way
    assumption_sites: assumptions, each with its place and its words
"""
