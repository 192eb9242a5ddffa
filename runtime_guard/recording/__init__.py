"""Events on any device, real or virtual: who hears of them, where they are kept, how they are said.

The modules:

    events, ledger, evidence, budgets: an event, their sum, the same as plain data, limits on it
    observers, modes: who is told, and the hooks that watch real devices
    names, explanation: what the operands of a contradiction are called, and where they came from
    contradictions: such operands are recorded and refused
    module_moves, attributes, device_map: what `Module.to` moves, and what it leaves behind
    gradients: leaves whose gradient is lost since they were moved
    policies: what a guard objects to, from when on, how often
    cards: which of a machine's devices is this process's own
"""
