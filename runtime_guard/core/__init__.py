"""Tensors and torch, as everything else here stands on them: tags, source lines, private names.

The modules:

    sites: where in the user's code something happens
    programs: the installed package that the started program is
    placement, memory: where a tensor lives, and the bytes that it takes there
    tensors: the tensors among values that are handed around
    torch_internals, patches: what is used of torch without a public name, and what is replaced
    device_guards: what C++ asks a type of device that there is none of
    warning_places: warnings where they are without our hooks
    inheritance: what child processes are told in their environment
"""
