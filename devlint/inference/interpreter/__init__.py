"""The recursion over statements and expressions. Emits events, builds no facts.

Its modules:

    statements, loops, assignments, files: what a statement does
    conditions: what a test says, and which branch is taken
    iteration, first_iteration: what a loop goes through, and its first turn
    expressions, operators, subscripts, attributes, module_attributes: what an expression gives
    calls, parameters, definitions: calls, and the functions and lambdas that are defined
    part_moves: functions that move each part of an object
    class_bodies, class_attributes: classes, and their attributes through all methods
    declared_fields: what a dataclass is made of
    contracts: what annotations and comments declare
"""
