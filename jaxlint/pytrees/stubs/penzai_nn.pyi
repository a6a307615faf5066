"""penzai.nn (0.2.5): the base of layers, which has no fields."""

import abc

from penzai.core import struct

class Layer(struct.Struct, abc.ABC):
    @abc.abstractmethod
    def __call__(self, argument, /, **side_inputs): ...
