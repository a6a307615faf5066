"""The pytree model: what each class of a project is as a pytree, for every framework."""
