"""The release of devlint."""

__version__ = "0.1.0"
