"""As little of jax as a pytree class needs."""

class Array:
    """What a field holds."""
