"""Functions as others see them: inferred once to a summary, instantiated at each call.

Its modules:

    functions: inference of a function to its summary
    returns: several returns, on several devices
    waits: waits for the device that callers see
    element_reads: elements and pieces that a loop reads one by one
    arguments, declared_arguments: arguments bound to parameters, against what is declared, and the
    events of that
    call_conditions, callee_values: a callee's conditions and values, as one call has them
    moved_parameters: parameters moved on one path that another leaves where they were
    object_state: attributes of an object after a call of its method, and entries of arguments
    substitution: a summary in terms of a call's arguments
"""
