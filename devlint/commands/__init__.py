"""One command a file. `options` and `settings` are what several of them share."""
