"""devlint: static analysis of device placement in PyTorch code. Never imports torch."""

__version__ = "0.1.0"
