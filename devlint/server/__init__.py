"""The language server: devlint in editors. Needs the extra `devlint[lsp]`.

positions       places of findings as ranges of the protocol, in the encoding agreed on, and back
documents       the texts and notebooks that the editor has open, with what is not saved
settings        the editor's settings, and the configuration of a file under them
document_check  the check of one open document, with all open texts in the place of their files
schedule        checks one after the other on a thread; those that edits made stale are cancelled
diagnostics     findings and errors as diagnostics
actions         fixes and suppressions as code actions
places          where values are, as hovers and inlay hints
application     the messages of the protocol, each with its handler
"""
