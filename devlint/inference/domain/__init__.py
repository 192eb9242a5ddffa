"""The abstract domain: values, where they live and came from, and under which conditions.

It imports nothing from the rest of the inference, walks no syntax and knows no library.
"""
