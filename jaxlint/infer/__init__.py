"""Inference: which expression is an instance of which pytree class, flow-sensitive and three-state."""
