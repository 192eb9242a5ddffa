"""One file a report format; each turns a `Report` into text."""
