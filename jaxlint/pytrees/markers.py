"""What in a field's declaration says that the field is static, in the words of any framework."""

from __future__ import annotations

import msgspec

from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.frameworks import FIELD_FUNCTIONS, FRAMEWORKS
from jaxlint.pytrees.model import Field, FieldCall
from jaxlint.syntax.expressions import Expr

#: Annotations that mark a field.
ANNOTATIONS = frozenset(name for framework in FRAMEWORKS for name in framework.static_words)
#: Metadata that marks a field, and the value that means static.
_METADATA = dict.fromkeys(f.static_metadata for f in FRAMEWORKS if f.static_metadata is not None)
#: Keys that only the functions of their own framework may be taken to set with this meaning.
_AMBIGUOUS = frozenset(f.static_metadata[0] for f in FRAMEWORKS if f.static_metadata and f.key_is_ambiguous)


class Marker(msgspec.Struct, frozen=True):
    """A static marker: how it is written, and, if an annotation holds it, its name and the part that it is."""

    text: str
    name: str = ""
    annotation: Expr | None = None
    #: The metadata key that says it.
    key: str = ""


def static_marker(field: Field, model: PytreeModel) -> Marker | None:
    """The marker of a field's declaration that says "static", whichever framework it is meant for."""
    return model.once((static_marker, id(field)), lambda: (field, _found(field, model)))[1]


def _found(field: Field, model: PytreeModel) -> Marker | None:
    for key, value in _METADATA:
        if field.metadata.get(key) is value:
            text = _written(field.call, key, value)
            if text or key not in _AMBIGUOUS:
                return Marker(text or f'metadata={{"{key}": {value}}}', key=key)
    if field.annotation is None:
        return None
    place = field.annotation
    found = model.context(place.expr, place.module, place.scope, field.metadata).mention(ANNOTATIONS)
    return None if found is None else Marker(f"{found[0]}[...]", *found)


def _written(call: FieldCall | None, key: str, value: bool) -> str:
    """The call of a field function that sets a metadata key by itself, or nothing if the user's `metadata` does."""
    spec = FIELD_FUNCTIONS.get(call.function) if call is not None else None
    if call is None or spec is None:
        return ""
    if spec.fixed.get(key) is value:
        return f"{call.function}()"
    for parameter, set_key in spec.keywords.items():
        if set_key == key and (parameter in call.keywords or parameter in spec.positional):
            return f"{call.function}({parameter}={value})"
    return ""
