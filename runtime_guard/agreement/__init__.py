"""Which operands may meet, and on which device a result is: PyTorch's law, without a machine.

The modules:

    operators: kinds of operators, by name, as data
    plans, rules: an operator's plan, made once from its schema, and the law behind it
    device_checks: which kernels PyTorch wraps in a check, generated from its sources
"""
