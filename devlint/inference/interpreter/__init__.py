"""The recursion over statements and expressions. Emits events, builds no facts.

Its modules:

    statements, assignments, files: what a statement does
    control_flow, loops: which suites run, and what is known behind them
    conditions, comparisons: which tests are true in the accelerated world
    narrowing, branches: what a test says of names, and what holds in a branch
    iteration, first_iteration: what a loop goes through, and its first turn
    expressions, operators, attributes, module_attributes: what an expression gives
    subscripts, tensor_indices, item_assignments: what is picked, and put, under an index
    calls, construction, external_calls, unknown_calls: calls
    parameters, definitions: the functions and lambdas that are defined
    annotations: what a type says of a value that is handed in
    constructed_parts: the class of what the constructions of a file hand in
    class_bodies, class_attributes: classes, and their attributes through all methods
    module_classes: which classes are modules
    attribute_writes, kept_tensors, submodules: what a method leaves in the attributes of its object
    movers, attribute_suites: methods that move attributes, and suites that assign several
    object_lives: where a module that an object holds may be when a method begins
    declared_fields: what a dataclass is made of
    contracts, contract_places, contract_checks: what annotations and comments declare, trusted
    where it stands and held against values
"""
