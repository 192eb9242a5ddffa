"""The LibCST pass: from a parsed module to facts about devices. Knows no rule, no file system."""
