"""Whether virtual devices do what PyTorch does: the questions, and who is asked.

The modules:

    operators: which operands of PyTorch's operators may meet
    programs: small programs of users' kinds, in ``programs.txt``
    card: what a real card's own tools count
"""
