"""The policy: from the assumptions that a conclusion rests on to how sure devlint says it is."""
