"""What a guard saw, for people and for tools: one module per format.

The modules:

    data: costs by line and by loop, which the formats share
    text, html, json_report, trace: the formats
"""
