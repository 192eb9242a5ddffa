"""The program being inferred: files, classes, functions, frames, and what happens in them.

Its modules:

    values: what refers to the program: classes, functions, objects and modules as values
    functions, classes: what is declared, and what is known of it
    frames: one function, or a file's body, on the walk
    units: the files being inferred, their common context, and `Interpreter`
    sources, file_text: what the inference needs of a project, and what a text says as a whole
    loops: loops being walked, and environments
    state: names, heap and path at a place
    outcomes: what a function gives back and leaves
    meetings: operands that are brought together
    traffic: what a function moves, and what its host reads
    unplaced_factories: tensors made on the default device with the shapes of others
    control: what is around the place that is being walked
    contracts: what the code declares of its values
    events: what happens, for those who listen
    predicates, tests: what conditions ask, and how those around a place came out
    shape_tests: what comparisons say of the dimensions and elements of a tensor
    environments: where branches meet
    type_expressions: types that names stand for
    constructors, roles: functions that build, prepare, evaluate, run once per step
    usage: functions that nothing in sight uses, and parameters that no call hands in
    class_state: attributes that only a constructor sets
    device_awareness: code that is written with devices in mind
    accelerator_notes: accelerators that a file names, as noted on the way
    assumption_sites: assumptions, each with its place and its words
"""
