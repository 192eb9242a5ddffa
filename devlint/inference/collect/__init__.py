"""Collectors: each listens to the events of one subject and makes facts of them.

Its modules:

    listeners: who listens to which event
    contradictions, explanation: operands that can not meet, with their history
    under_way: what is noted of functions under way, and the names of what is called
    notes, syncs, rebindings: moves, waits and loops that cost
    data_copies: Python data that each call copies to a device
    anomaly_mode: a debugger of gradients, which waits behind each operation
    card_wide_calls, kept_graphs: what else a loop pays for: waits for the card, memory that stays
    timings, stream_races, forbidden_waits: waits that are missing, and those that can't be
    call_contexts, module_homes: what calls hand to parameters, and where modules are kept
    undetached_reads, nonleaves: what autograd and optimizers hold
    plain_attributes, switched_attributes: tensors and modules that a module does not register
    hard_coded_accelerators, availability_guards, device_awareness: CUDA by name, and why
    named_cards, kept_device_names: cards by name, and what holds such a name
    legacy_types, mentions, rank_code: what else names it, and what is once per process
    tensor_classes: legacy types of the project's own
    pinned_memory: memory that only an accelerator's allocator pins
    invalid_cards: numbers and names of cards where others belong
    moves_in_vain, moves_of_either: lost moves that others make all the same, or of modules, too
    host_offers: signs that code with such names is to run on the host, too
    absent_backends: questions for backends that nothing has imported
    accelerator_bindings: names that have a value only where an accelerator is
    cuda_on_purpose: code that runs on CUDA alone, and says so
    accelerator_calls: `torch.accelerator`, and what it stands in for
    autocasts: what autocasting is given, and where the work in it is
    default_devices: the default device in samplers, splits and workers
    dispatched_models, meta_leftovers: models that a library has placed, or that hold no data yet
    missing_devices: devices that objects are asked for and do not have
    kernel_launches: Triton kernels, and the card that they run on
    loads, plain_states: what a file holds that is loaded, and states that are numbers
    scopes, file_paths: what a function saves and loads, and where
    devices_beside: a device that a method is given, and that of its object
    ignored_devices, dropped_devices, invalid_devices: devices not kept to, not passed on, or none
    device_comparisons: comparisons of devices that come out the same anywhere
    device_texts: what is asked of the text of a device, or of a tensor's type, and is never there
    unread_devices, overwritten_devices: devices that a function takes and never reads
    called_properties: properties of a tensor that are called
    index_tests, index_declarations: numbers of cards that are asked for their truth
    compared_parameters, read_only_devices: devices compared with texts, and those that nobody sets
    unmoved_modules: modules that most methods of a class move, and one does not
    unplaced_factories: tensors made for another one's device, and never brought there
    workers: what DataLoader workers run
    observer, places: the places of all values of a file, for who asks to see them
"""

import devlint.nodes  # noqa: F401  # before anyone imports LibCST
