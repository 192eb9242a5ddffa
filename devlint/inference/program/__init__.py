"""The program being inferred: files, classes, functions, frames, and what happens in them.

Its modules, lowest first: none names, not even in a type, one that stands below it here.

    sources, file_text: what the inference needs of a project, and what a text says as a whole
    contracts: what the code declares of its values
    loops, control, state: loops being walked; what else is around a place; names, heap, path there
    meetings, unplaced_factories: operands that are brought together, or are going to be, as the
    shapes of factories say
    traffic: what is moved and read by the host
    outcomes: what a function leaves
    predicates: what conditions ask
    units: the files being inferred, and the run that they share; know nothing of what is in them
    functions: parameters, arguments and summaries
    attribute_notes: what assignments leave in attributes
    declarations: the functions and classes of a file
    values: what refers to the program: classes, functions, objects and modules as values
    frames: one function, or a file's body, on the walk; globals; `Interpreter`, for what they ask
    imports: what a file takes from others
    events: what happens, for those who listen

Questions about these:

    control_dependences: the conditions and loops around each node of a function
    tests, shape_tests: how conditions around a place came out, and what they say of dimensions
    attribute_conditions: the same of conditions on what an object keeps, for each of its methods
    type_expressions: types that names stand for
    multiplicity: functions that run many times in one step
    constructors, roles: functions that build, prepare, evaluate, collate, run per step
    seldom: functions that are called once per epoch, or for a reader
    usage: functions that nothing in sight uses, and parameters that no call hands in
    self_tests: the check of a module that others import, run by its author
    options: flags that nothing in the project sets
    class_state: attributes that only a constructor sets
    device_awareness: code that is written with devices in mind
    accelerator_notes: accelerators that a file names, as noted on the way
    assumption_sites: assumptions, each with its place and its words
"""
