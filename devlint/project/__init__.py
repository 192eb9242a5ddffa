"""A project: its files on disk, and what they say of one another.

Files:

discovery, patterns, repository, revisions       which are checked, now or at a commit
source, python_text, notebooks, magics, parsing  the bytes of one, its Python, and its tree
imports, callers                                 the one of a dotted name; those with some name
added_folders                                    where else a program lets Python look for them

The survey of a project, by the texts of its files alone; `survey` answers each of `questions`:

uses, naming, origins       where a file uses a name, which files have it, and whose it is
definitions, users          what a file defines, and who uses it
reachability                whether what uses it may run, however far away
mentions                    what is asked of all texts together
attributes                  what other files give objects of a class
import_graph, programs      which file imports which, and what a program chooses for its own
cuda_builds, cuda_callers   what only CUDA runs
"""
