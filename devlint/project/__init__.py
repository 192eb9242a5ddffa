"""Files on disk: finding them, reading and parsing them, and importing one from another."""
