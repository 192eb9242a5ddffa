"""Helpers of the rules: subjects that several of them share. No rule is among them."""
