"""penzai (0.2.5): `@pz.pytree_dataclass class A(pz.Struct)`."""

from jaxlint.pytrees.framework import Framework, Unflatten

#: The exception of a class statement that breaks a rule of penzai's.
REFUSES = "PyTreeDataclassSafetyError"

PENZAI = Framework(
    id="penzai",
    title="penzai.pz.Struct",
    decorators=frozenset({"penzai.pz.pytree_dataclass"}),
    bases=frozenset({"penzai.pz.Struct"}),
    aliases={
        f"penzai.{place}.{name}": f"penzai.pz.{name}"
        for place in ("core.struct", "deprecated.v1.pz", "deprecated.v1.core.struct", "experimental.v2.core.struct")
        for name in ("pytree_dataclass", "Struct")
    }
    | {"penzai.core.selectors.select": "penzai.pz.select"},
    options={
        "penzai.pz.pytree_dataclass": frozenset(
            {"init", "repr", "eq", "order", "match_args", "kw_only"}
            | {"has_implicitly_inherited_fields", "use_mutable_proxy_in_init", "overwrite_parent_init"}
        )
    },
    base_methods=frozenset(
        """attributes_dict from_attributes key_for_field select tree_flatten tree_flatten_with_keys tree_unflatten
        treescope_color""".split()
    ),
    class_keywords=frozenset(),
    assignable_in=frozenset({"__init__"}),
    refuses_undecorated=True,
    refuses_repeats="Cannot apply pytree_dataclass twice to the same class!",
    class_error=REFUSES,
    refuses_inherited_init=True,
    relists_fields=True,
    wants_all_fields=True,
    selecting_methods=frozenset({"select"}),
    unflatten=Unflatten.BYPASS,
    sets_plainly=True,
    static_metadata=("pytree_node", False),
    static_spelling='dataclasses.field(metadata={"pytree_node": False})',
    static_marking=("dataclasses.field", "metadata", '{"pytree_node": False}'),
)
