"""The pytest plugin: switched off it is one import of this file, and torch is not imported."""
