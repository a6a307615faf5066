"""equinox.nn (0.13.8): every layer is a module; their fields are not listed here."""

import equinox as eqx

class Layer(eqx.Module):
    if ...: ...
