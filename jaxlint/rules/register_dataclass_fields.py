"""JAX104 register-dataclass-fields."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from jaxlint.cst.changes import AddItems, EditCall, Proposal, Remove, Rewrite
from jaxlint.cst.failing import proposing
from jaxlint.finding import Applicability, Severity
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead
from jaxlint.pytrees.frameworks.jax_register import DROPS_ALONE, DROPS_BY_NAME, READS_FIELDS, REFUSES_OVERLAP
from jaxlint.pytrees.model import FieldLists, PytreeClass, Registration
from jaxlint.pytrees.registration import ListProblems, fails_by_form, list_problems
from jaxlint.pytrees.registrations import REGISTERING
from jaxlint.rules.analyses.fixes.roles import list_for
from jaxlint.rules.analyses.instances.registering import classes_of_function, imported_classes
from jaxlint.rules.base import BodyRule, ClassRule, Problem
from jaxlint.symbols.outline import Unit
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Binary, Constant, Display, Expr, Span, Starred
from jaxlint.syntax.spelling import nearest

_REASON = (
    "`register_dataclass` compares its lists with the fields of the dataclass, and wants each field in one of them"
)
#: Calls that may set attributes of any name.
_SETTERS = frozenset({"setattr", "__setattr__", "update", "vars"})


class RegisterDataclassFields(ClassRule, BodyRule):
    """
    ## What it does

    Finds `data_fields`, `meta_fields` and `drop_fields` of `register_dataclass` that do not fit the class: a field in
    none of the lists or in two, a name that is no field or stands twice, one list without the other, a string where a
    list is meant, a missing comma, a dropped field that the constructor needs.

    ## Why is this bad?

    jax checks the lists when the class is registered: the module cannot be imported. What it does not see fails at the
    first flattening or at the first transformation, and a name that stands twice is a leaf twice.

    ## What you will see

    `ValueError: data_fields and meta_fields must include all dataclass fields with ``init=True`` and only them. Missing
    fields: {'depth'}. Add them to drop_fields to suppress this error. Unexpected fields: {'detph'}.`; `ValueError:
    data_fields and meta_fields must not overlap.` (from jax 0.9 on); `TypeError: register_dataclass: data_fields and
    meta_fields must both be specified when either is specified.`; `TypeError: Tree.__init__() missing 1 required
    positional argument`, from the first transformation.

    ## Example

    ```python
    from dataclasses import dataclass
    from functools import partial
    import jax
    from jax.tree_util import register_dataclass

    @partial(register_dataclass, data_fields=["weights"], meta_fields=["detph"])
    @dataclass
    class Tree:
        weights: jax.Array
        depth: int
    ```

    ## Use instead

    ```python
    from dataclasses import dataclass
    from functools import partial
    import jax
    from jax.tree_util import register_dataclass

    @partial(register_dataclass, data_fields=["weights"], meta_fields=["depth"])
    @dataclass
    class Tree:
        weights: jax.Array
        depth: int
    ```

    ## Frameworks

    jax only. A class that is no dataclass is compared with the attributes that its methods assign.

    ## Fix safety

    The other list is given, a string is put into a list, names are removed or written as the field that is meant,
    and a field that no list has is put into `data_fields` if it is annotated as an array or a pytree, and into
    `meta_fields` if it is one of text. The fix is safe where the class could not be registered and nothing else can be
    meant, and unsafe otherwise.

    ## When not to use it

    Lists that depend on more than constants and the fields of the class are not looked at. jax 0.4.30 accepts all
    lists, and loses what is in none of them.

    ## References

    - [jax.tree_util.register_dataclass](https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_dataclass.html)
    - [jax #34079](https://github.com/jax-ml/jax/issues/34079)
    """

    code = "JAX104"
    name = "register-dataclass-fields"
    group = "declaring"
    since = "0.1.0"
    calls = REGISTERING

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at what registers classes that are imported, or does so in a function."""
        for cls in (*imported_classes(code, evaluator), *classes_of_function(code, evaluator)):
            if all(registration.elsewhere is not None for registration in cls.registrations):
                yield from self.check_class(cls, evaluator)

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare the lists of a registration with the class."""
        lists = cls.lists
        registration = next((r for r in cls.registrations if r.has_lists), None)
        if lists is None or registration is None or registration.guarded or fails_by_form(registration):
            return
        if lists.automatic:
            yield from _dropped_alone(cls, lists, registration, evaluator)
            return
        problems = list_problems(cls)
        if problems is not None:
            refuses = evaluator.model.target.holds(REFUSES_OVERLAP) is not False
            yield from _Lists(cls, lists, registration, problems, refuses, evaluator).all()


class _Lists:
    """What is to be said of the lists of one class."""

    def __init__(
        self,
        cls: PytreeClass,
        lists: FieldLists,
        registration: Registration,
        problems: ListProblems,
        refuses_overlap: bool,
        evaluator: Evaluator,
    ) -> None:
        self.cls = cls
        #: The module in which the findings stand.
        self.module = registration.elsewhere or cls.module
        self.lists = lists
        self.registration = registration
        self.problems = problems
        self.refuses_overlap = refuses_overlap
        self.evaluator = evaluator
        self.given = {
            "data_fields": lists.data_given,
            "meta_fields": lists.meta_given,
            "drop_fields": lists.drop_given,
        }

    def all(self) -> Iterator[Problem]:
        """Every problem once, at the narrowest place."""
        problems = self.problems
        if problems.absent_list:
            yield self._absent()
            return
        letters = [name for name in ("data_fields", "meta_fields") if self._is_string(name) and self._fails(name)]
        if letters:
            yield from map(self._string, letters)
            return
        explained: set[str] = set()
        for name in problems.unexpected:
            meant = self._meant(name)
            explained.update(meant)
            yield self._unexpected(name, meant)
        missing = [name for name in problems.missing if name not in explained]
        if missing:
            yield self._missing(missing)
        for name in problems.overlapping if self.refuses_overlap else ():
            yield self._twice(name, "meta_fields", "data_fields and in meta_fields")
        for name in problems.dropped_too:
            yield self._twice(name, "drop_fields", "drop_fields and in another list")
        for name in problems.repeated:
            yield self._repeated(name)
        for name in problems.dropped_required:
            yield self._dropped_required(name)
        if not self.registration.of_dataclass:
            yield from self._without_attribute()

    # -- places -------------------------------------------------------------------------------

    def _at(self, list_name: str, name: str | None = None, last: bool = False) -> Span:
        """Where a name stands in a list, or else the list, or else what registers the class."""
        placed = self.given[list_name]
        if placed is None or placed.module is not self.module:
            return self.registration.at
        written = self._written(list_name, name)
        return written[-1 if last else 0] if written else place_of(placed.expr.at)

    def _written(self, list_name: str, name: str | None) -> list[Span]:
        """Where a name is written in a list, or in one that it is put together of."""
        placed = self.given[list_name]
        items = _items(placed.expr) if placed is not None and placed.module is self.module else ()
        return [place_of(i.at) for i in items if isinstance(i, Constant) and i.value == name]

    def _list_of(self, name: str) -> str:
        return "data_fields" if name in (self.lists.data or ()) else "meta_fields"

    def _is_string(self, list_name: str) -> bool:
        placed = self.given[list_name]
        return placed is not None and isinstance(placed.expr, Constant) and isinstance(placed.expr.value, str)

    def _fails(self, list_name: str) -> bool:
        """Whether the letters of a string are no names of fields."""
        names = (self.lists.data if list_name == "data_fields" else self.lists.meta) or ()
        if self.registration.of_dataclass:
            return not set(names).isdisjoint(self.problems.unexpected)
        return len(names) > 1

    # -- problems -----------------------------------------------------------------------------

    def _problem(
        self, at: Span, message: str, advice: str, reason: str = _REASON, fix: Proposal | None = None
    ) -> Problem:
        return Problem(
            at=at, message=message, reason=reason, help=advice, fix=None if self.registration.in_loop else fix
        )

    def _absent(self) -> Problem:
        absent = self.problems.absent_list
        present = "data_fields" if absent == "meta_fields" else "meta_fields"
        return self._problem(
            self._at(present),
            f"`{self.cls.name}` is registered with {present} and without {absent}: it cannot be registered (TypeError);"
            f" give both, or `{absent}=[]`",
            f"add `{absent}=[...]`",
            "`register_dataclass` sorts the fields itself only if neither list is given",
            self._other_list(absent, present),
        )

    @proposing
    def _other_list(self, absent: str, present: str) -> Proposal | None:
        """The fix: the other list holds all other fields."""
        listed = self.lists.data if present == "data_fields" else self.lists.meta
        registration = self.registration
        by_keyword = all(registration.options.get(n) is self.given[n] for n in (absent, present) if self.given[n])
        if listed is None or self.lists.dropped is None or not self.cls.fields_known or not by_keyword:
            return None
        names = [f.name for f in self.cls.fields if f.init and f.name not in (*listed, *self.lists.dropped)]
        written = "[" + ", ".join(f'"{name}"' for name in names) + "]"
        level = Applicability.UNSAFE if names else Applicability.SAFE
        return Proposal(f"Give `{absent}`", level, (EditCall(registration.at, ((absent, written),)),))

    def _string(self, list_name: str) -> Problem:
        placed = self.given[list_name]
        assert placed is not None and isinstance(placed.expr, Constant)
        text = placed.expr.value
        fails = (
            "it cannot be registered (ValueError)"
            if self.registration.of_dataclass
            else "the first flattening raises AttributeError"
        )
        return self._problem(
            self._at(list_name),
            f"{list_name} of `{self.cls.name}` is the string `{text}`, read letter by letter: {fails};"
            f' write `["{text}"]`',
            f'write `{list_name}=["{text}"]`',
            "a string is an iterable of its letters, and parentheses without a comma make no tuple",
            Proposal("Put it into a list", Applicability.SAFE, (Rewrite(place_of(placed.expr.at), f'["{text}"]'),)),
        )

    def _meant(self, name: str) -> tuple[str, ...]:
        """The missing fields that an unknown name stands for: run together without a comma, or misspelt."""
        missing = self.problems.missing
        for first in missing:
            rest = name.removeprefix(first)
            if rest != name and rest != first and rest in missing:
                return first, rest
        fitting = [one for one in missing if self._list_for(one) in ("", self._list_of(name))]
        if len(missing) == len(fitting) == len(self.problems.unexpected) == 1:
            return missing
        close = nearest(name, fitting)
        return () if close is None else (close,)

    def _list_for(self, name: str) -> str:
        """The list in which a field belongs by its annotation; empty if nobody knows."""
        field = self.cls.field(name)
        annotation = None if field is None else field.annotation
        return "" if annotation is None else list_for(self.evaluator.annotations.read(annotation, self.cls))

    def _unexpected(self, name: str, meant: tuple[str, ...]) -> Problem:
        cls, list_name = self.cls, self._list_of(name)
        at = self._at(list_name, name)
        field = cls.field(name)
        if field is not None:
            message = f"field `{name}` of `{cls.name}` has init=False and stands in {list_name}"
            way_out = f"leave `{name}` out"
        elif len(meant) == 2:
            message = f"{list_name} of `{cls.name}` names `{name}`, which is no field"
            way_out = f"put a comma between `{meant[0]}` and `{meant[1]}`"
        else:
            message = f"{list_name} of `{cls.name}` names `{name}`, which is no field"
            way_out = f"did you mean `{meant[0]}`?" if meant else f"remove `{name}`"
        advice = f"write `{meant[0]}`" if len(meant) == 1 else way_out
        fix = self._removal(name, list_name, Applicability.SAFE) if not meant else None
        if len(meant) == 1:
            fix = self._respelled(name, list_name, meant[0])
        return self._problem(at, f"{message}: it cannot be registered (ValueError); {way_out}", advice, fix=fix)

    @proposing
    def _removal(self, name: str, list_name: str, level: Applicability, last: bool = False) -> Proposal | None:
        """The fix that takes a name out of a list."""
        written = self._written(list_name, name)
        change = Remove(written[-1 if last else 0]) if written else None
        return None if change is None else Proposal(f"Remove `{name}` from {list_name}", level, (change,))

    @proposing
    def _respelled(self, name: str, list_name: str, meant: str) -> Proposal | None:
        """The fix that writes another name in the place of one."""
        written = self._written(list_name, name)
        if not written:
            return None
        return Proposal(f"Write `{meant}`", Applicability.UNSAFE, (Rewrite(written[0], f'"{meant}"'),))

    def _missing(self, names: list[str]) -> Problem:
        listed = ", ".join(f"`{name}`" for name in names)
        plural = len(names) > 1
        return self._problem(
            self._at("data_fields"),
            f"{listed} of `{self.cls.name}` {'are' if plural else 'is'} in none of the lists of fields: it cannot be"
            f" registered (ValueError); add {'them' if plural else 'it'} to data_fields or meta_fields",
            f"add {listed} to data_fields (arrays), meta_fields (static values) or drop_fields (reset to the default)",
            fix=self._adding(names),
        )

    @proposing
    def _adding(self, names: list[str]) -> Proposal | None:
        """The fix that puts each field into the list that its type tells of."""
        added: dict[str, list[str]] = {}
        for name in names:
            added.setdefault(self._list_for(name), []).append(name)
        changes = [self._added(list_name, some) for list_name, some in added.items() if list_name]
        if "" in added or None in changes:
            return None
        written = ", ".join(f"`{name}`" for name in names)
        return Proposal(f"List {written}", Applicability.UNSAFE, tuple(c for c in changes if c is not None))

    def _added(self, list_name: str, names: list[str]) -> AddItems | None:
        """The list of that name with some more names."""
        placed = self.given[list_name]
        if placed is None or placed.module is not self.module or not isinstance(placed.expr, Display):
            return None
        return AddItems(place_of(placed.expr.at), tuple(names))

    def _twice(self, name: str, list_name: str, where: str) -> Problem:
        since = f" {REFUSES_OVERLAP.when}" if list_name == "meta_fields" else ""
        return self._problem(
            self._at(list_name, name),
            f"`{name}` of `{self.cls.name}` is in {where}: it cannot be registered (ValueError{since}); keep one",
            f"remove `{name}` from {list_name}, or from the other list",
            "a field is a leaf, or static, or dropped",
            self._removal(name, list_name, Applicability.UNSAFE),
        )

    def _repeated(self, name: str) -> Problem:
        problem = self._problem(
            self._at("data_fields", name, last=True),
            f"`{name}` of `{self.cls.name}` stands twice in data_fields: its array is a leaf twice; remove one",
            f"remove the second `{name}`",
            "sums and norms over the leaves count the array twice, and no error is raised",
            self._removal(name, "data_fields", Applicability.UNSAFE, last=True),
        )
        return replace(problem, severity=Severity.WARNING)

    def _dropped_required(self, name: str) -> Problem:
        return self._problem(
            self._at("drop_fields", name),
            f"field `{name}` of `{self.cls.name}` is dropped and has no default: the first tree_map or jit raises"
            f" TypeError; give `{name}` a default",
            f"give `{name}` a default value, or list it in data_fields or meta_fields",
            "every unflattening calls the constructor without the dropped fields",
        )

    def _without_attribute(self) -> Iterator[Problem]:
        known = _attributes(self.cls)
        if known is None:
            return
        for name in dict.fromkeys((*(self.lists.data or ()), *(self.lists.meta or ()))):
            if name in known:
                continue
            list_name = self._list_of(name)
            close = nearest(name, sorted(known))
            yield self._problem(
                self._at(list_name, name),
                f"{list_name} of `{self.cls.name}` names `{name}`, which is no attribute: the first flattening raises"
                f" AttributeError; " + (f"did you mean `{close}`?" if close else f"remove `{name}`"),
                f"write `{close}`" if close else f"remove `{name}`, or assign it in `__init__`",
                "flattening reads each listed attribute from the instance",
                self._respelled(name, list_name, close) if close else None,
            )


def _dropped_alone(
    cls: PytreeClass, lists: FieldLists, registration: Registration, evaluator: Evaluator
) -> Iterator[Problem]:
    """`drop_fields` without the other lists: an older jax compares all fields with what is left, or drops nothing."""
    target = evaluator.model.target
    accepted, by_name, reads_fields = map(target.holds, (DROPS_ALONE, DROPS_BY_NAME, READS_FIELDS))
    placed, module = lists.drop_given, registration.elsewhere or cls.module
    given = {i.value for i in _items(placed.expr) if isinstance(i, Constant)} if placed is not None else set()
    names = [f.name for f in cls.fields if f.init and f.name in {*given, *(lists.dropped or ())}]
    if accepted or not names or not cls.fields_known:
        return
    if reads_fields is False:
        consequence = f"it cannot be registered (TypeError {READS_FIELDS.before})"
    elif by_name is False and names[0] not in (lists.dropped or ()):
        consequence = f"it is in the pytree nevertheless ({DROPS_BY_NAME.before})"
    else:
        consequence = f"it cannot be registered (ValueError {DROPS_ALONE.before})"
    yield Problem(
        at=place_of(placed.expr.at) if placed is not None and placed.module is module else registration.at,
        message=(
            f"`{names[0]}` of `{cls.name}` is in drop_fields, and the other lists are not given: {consequence};"
            + (" give all three lists" if by_name is not False else " make it a static field")
        ),
        reason=(
            f"{DROPS_ALONE.before} the automatic lists hold the dropped fields too"
            + (
                ", and are refused for that"
                if by_name is not False
                else f"; {DROPS_BY_NAME.before} letters are dropped"
            )
        ),
        severity=Severity.ERROR if accepted is False else Severity.WARNING,
        help=(
            "add `data_fields=[...]` and `meta_fields=[...]`" if by_name is not False else "mark it as a static field"
        ),
    )


def _items(expr: Expr) -> Iterator[Expr]:
    """What is written in a list, or in the lists that one is put together of."""
    match expr:
        case Display(items=items):
            for item in items:
                yield from _items(item.value) if isinstance(item, Starred) else (item,)
        case Binary(op="+", left=left, right=right):
            yield from _items(left)
            yield from _items(right)


def _attributes(cls: PytreeClass) -> set[str] | None:
    """The names of all attributes that instances or the class may have; None if there may be others."""
    if not cls.bases_known or cls.unknown_decorator:
        return None
    known: set[str] = set()
    for ancestor in cls.mro:
        declaration, outline = ancestor.symbol.declaration, ancestor.module.outline
        if "__getattr__" in declaration.methods or "__getattribute__" in declaration.methods:
            return None
        unit = next((u for u in outline.units if declaration.qualname in u.classes), None)
        if declaration.conditional_body or unit is None or _sets_by_name(unit):
            return None
        known |= {f.name for f in declaration.fields} | {a.name for a in declaration.assignments}
        known |= set(declaration.methods)
        for qualname in (q for qualnames in declaration.methods.values() for q in qualnames):
            known |= {a.attr for a in outline.functions[qualname].self_assignments}
    return known


def _sets_by_name(unit: Unit) -> bool:
    return not unit.calls.isdisjoint(_SETTERS)
