"""A folder on the path of Python programs that are started on a virtual machine.

The modules:

    sitecustomize: run by every interpreter at its start, before the program
"""
