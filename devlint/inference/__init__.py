"""The LibCST pass: from a parsed module to facts about devices. Knows no rule, no file system.

`engine.infer_file` begins it, `facts.Facts` is what comes out. The rooms in between:

Terms
    domain: values, where they live, what conclusions assume
    confidence: how sure the assumptions leave a conclusion, one table
    conventions: what names, paths, comments and texts suggest, as data
    values, devices: what a value is, what device it names
    text: source as messages quote it, and fast walks over nodes
    choices, environments: under which tests a value came about; where branches meet
    frame, unit: the state of inferring one function, and one file
    assumption_sites: the assumptions of the walk, each with its place and its words
Walking code
    statements, conditions, iteration, turns: what a statement does, which branch is taken, loops
    expressions, operators, subscripts, calls: what an expression gives
    moves, tensor_methods, libraries, special, objects, modules, autograd: what a call does
Functions and classes of the project
    functions, parameters, binding, callees, returns: summaries, and their use at each call
    feeding, feeds: what all calls of a project hand to a parameter
    class_bodies, classes, attribute_moves: attributes through all methods
Where tensors meet
    meetings, strays: unification, and values on whatever accelerator is current
    contracts: what annotations and comments declare
    drafts, telling: contradictions become facts, with their history
What else is found out, each a subject of its own
    notes, syncs, creations, rebindings, steps: moves, reads and loops that cost
    gradients, nonleaves, optimizers: what autograd and optimizers hold
    mentions, branches, demands, reasons: accelerators that the code names, asks for, needs
    loads, minding: what a file holds that is loaded; code written with accelerators in mind
    asked, dropped, mistaken: devices that are not kept to, not passed on, or none
    orphans: tensors made for another one's device, and never brought there
    workers: what DataLoader workers run
"""
