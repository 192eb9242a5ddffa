"""Transfer functions: what known APIs do to devices, and unification.

Its modules:

    devices, places, elements, loaders, contracts: what names a device, where a value is
    index_tuples: indices in several dimensions
    held_tensors: the tensors that a value is or holds
    unification, current_device: operands that must live together (a package, see there)
    gradients, autograd: what autograd records, and functions that define their own backward
    module_places, registration, module_inputs, modules: modules as wholes, their state, their calls
    moves: `.to` and its kin (a package, see there)
    creations, creation_flow, factory_expressions: factories of what is only made to be moved
    library_functions, operands, call_results, collectives: calls of libraries, by
    the knowledge
    library_modules, library_objects, objects, optimizers, tokenizers: what
    libraries make
    factories, factory_calls, factory_shapes: tensors made here, and their shapes
    sizes: numbers that PyTorch asks for
    tensor_methods, unknown_methods: methods of tensors, and of what may be one
    ranks: numbers of processes
    builtins, handlers: functions known one by one, and the type of what answers their calls
    device_functions, tensor_constructors, data_loaders: those of torch that make something
    tensor_classes: classes that are derived from `torch.Tensor`
    kept_optimizers: those that an object keeps, whose module is moved later
    parallel: wrappers for several cards
    constructors, wrappers, iterables, python_functions, container_methods: those of other
    libraries, and Python's own
    other_frameworks: what TensorFlow and its like make
    generators: random numbers and where they are drawn
"""
