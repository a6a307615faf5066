"""As little of flax as a pytree class needs."""
