"""A class that is called with what an instance holds of which nothing says what it is: `S(t=s.t + 1, x=s.x)`."""

from __future__ import annotations

from jaxlint.infer.evaluating.events import Construct, KeywordValue, Place
from jaxlint.infer.known.values import UnknownValue
from jaxlint.infer.transforms.applied import rebuilt_parameters
from jaxlint.syntax.expressions import Binary, dotted, is_number
from jaxlint.syntax.statements import parts


def counts_on(event: Construct, argument: KeywordValue) -> bool:
    """Whether an argument is a number of another object plus or minus a literal one, and that is seen to be copied.

    What is given for another field, too, is made of what the object has under the name of that field.
    """
    value = event.call.keyword(argument.name)
    if not isinstance(argument.value, UnknownValue) or not isinstance(value, Binary) or value.op not in ("+", "-"):
        return False
    copied, _, read = (dotted(value.left) or "").rpartition(".")
    if read != argument.name or not is_number(value.right) or not _goes_in(copied.partition(".")[0], event.place):
        return False
    others = [arg for arg in event.call.args if arg.keyword not in (None, argument.name)]
    return any(dotted(part) == f"{copied}.{arg.keyword}" for arg in others for part in parts(arg.value))


def _goes_in(name: str, place: Place) -> bool:
    """Whether a variable is a parameter of a transformed function that is not static, and so may be a result of it."""
    return any(name in rebuilt_parameters(function, place.applied(function)) for function in place.functions)
