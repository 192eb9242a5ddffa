"""What a guard saw, for people and for tools: one module per format."""
