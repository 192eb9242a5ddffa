"""Questions about a syntax tree, answered without knowing devices.

Its modules:

    code_generator: source code from nodes, fast
    text: source as messages quote it, and fast walks over nodes
    names: how often a name is used and called in each function
    words: the words of a condition, and what they ask
    control_dependence, endings: the conditions around a node, and what ends a way
    evaluation_order: when a node is evaluated, and in which loops
    attribute_moves: attributes of a class that its methods move
    exposed_reads: attributes that a call reads as another one left them
    object_lives: what methods do with their object, and the code that makes one with it
    given_attributes: attributes that a class gives its objects, and those that its methods read
    moved_sources: what a function brings to a device, and so is not there before
    moved_globals: globals that functions move where they are
    definitions: definitions of local names, and the reads that each reaches
    command_line: options that are numbers
    fallbacks: what a function takes for a parameter that is None
    constructions: the calls of a name in a file, and what each hands in
    loops: the names that loops bind, and what they go through
    filled_lists: lists that the methods of a class fill, and hand to a constructor
    filled_parts: parts of values, and lists, that a function fills
    card_numbers, optional_numbers: numbers of accelerators, and integers that may be None
    scope_names: where a scope binds its names, and where it reads them
    availability: what conditions are on a machine without an accelerator
    host_choices: the choices between an accelerator and the host that code leaves
    trials: functions that put something through their module for the shape that comes out
"""
