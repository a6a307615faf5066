"""JAX403 discarded-update."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxlint.cst.changes import AssignTo, Proposal
from jaxlint.cst.failing import advising, proposing
from jaxlint.finding import Applicability, Confidence
from jaxlint.infer.choosing.waiting import Candidate
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Discard, Event, Place, Replace, Update
from jaxlint.infer.known.values import UNKNOWN, UnknownValue, as_instance
from jaxlint.libraries.standard import WITH_REPLACE
from jaxlint.libraries.tables import TABLES
from jaxlint.libraries.trees import TREE_MAPS
from jaxlint.libraries.updates import (
    MOVED_COPIES,
    REPLACE_FUNCTIONS,
    RESTORING,
    TRAIN_STATE,
    TRAINING,
    UPDATE_FUNCTIONS,
    UPDATE_METHODS,
    WITH_STATES,
)
from jaxlint.project.resolution import ClassSymbol, External, FunctionSymbol
from jaxlint.pytrees.build import PytreeModel
from jaxlint.pytrees.stubs import described
from jaxlint.rules.analyses.bodies.around import outermost_body
from jaxlint.rules.analyses.changes.computed_states import computed_by, drops_states
from jaxlint.rules.analyses.changes.only_run import base_text, compiles_first, is_measured, is_only_run, is_tried_update
from jaxlint.rules.analyses.changes.renewed import renewed_by
from jaxlint.rules.analyses.changes.tried_steps import is_carried
from jaxlint.rules.analyses.changes.updates import array_copy, is_refused, only_measures, puts_back
from jaxlint.rules.analyses.fixes.keeping import is_held_elsewhere
from jaxlint.rules.analyses.fixes.rebinding import binding, is_own_variable, lost_help, putting_into_holder
from jaxlint.rules.base import BodyRule, EventRule, Problem
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Attribute, Binary, Call, Conditional, Expr, Lambda, dotted, last_name, same
from jaxlint.syntax.statements import (
    Do,
    For,
    Statement,
    Try,
    all_parts,
    only_tries,
    own_parts,
    target_names,
    walk,
)

#: Keywords that say that a `replace` of another kind is called: pandas's in-place form, and `Path.replace(target=...)`.
_OTHER_REPLACES = (frozenset({"inplace"}), frozenset({"target"}))
#: Libraries that have objects with another `replace`.
_OTHERS = TABLES | WITH_REPLACE
#: Updates that call a function for each part of a tree.
_MAPPING = frozenset({"map", "apply", "select.apply", "select.apply_with_selected_index", "select.apply_and_inline"})
#: The last names of the functions that make a tree of trees.
_LAST_OF_TREE_MAPS = frozenset(name.rpartition(".")[2] for name in TREE_MAPS)
#: Those of the functions that copy a tree as a whole.
_LAST_OF_MOVED = frozenset(name.rpartition(".")[2] for name in MOVED_COPIES)
#: The line between two cells of a script.
_CELL = re.compile(r"^# *(%%|[+]$|[+] [{]|jupyter:|jupytext:)", re.MULTILINE)
#: What the head of a script says whose cells are paragraphs, or stand between `# +` and `# -`.
_LIGHT = "#       format_name: light"


class DiscardedUpdate(EventRule, BodyRule):
    """
    ## What it does

    Finds functional updates that stand alone as a statement, so that their result is thrown away: `state.replace(…)`,
    `dataclasses.replace(…)`, `state.apply_gradients(grads=…)`, `eqx.tree_at(…)`, `x.at[i].set(v)` and
    kin; and calls of functions and methods of your own that do nothing but return such a copy.

    ## Why is this bad?

    These calls change nothing: they return a changed copy. Without an assignment (or a `return`) the update is lost.
    It is the most frequent bug of this kind in public code: training that "resumes" with a fresh optimizer state,
    times and metadata that are never saved, rewards that are never set.

    ## What you will see

    No error. The program goes on with the old values: `step after restore: 0`.

    ## Example

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Checkpoint:
        params: jax.Array
        step: int = 0

    def restore(state: Checkpoint, step: int) -> Checkpoint:
        state.replace(step=step)
        return state
    ```

    ## Use instead

    ```python
    import jax
    from flax import struct

    @struct.dataclass
    class Checkpoint:
        params: jax.Array
        step: int = 0

    def restore(state: Checkpoint, step: int) -> Checkpoint:
        state = state.replace(step=step)
        return state
    ```

    ## Frameworks

    All. These make a copy:

    * methods: `.replace` of flax.struct, TrainState, chex, simple_pytree and mjx (and its `tree_replace`), `_replace`
      of a NamedTuple, `apply_gradients(grads=…)` of a TrainState, penzai's `select(…).at(…).set(…)`, and treex's
      `.train()`, `.eval()`, `.freeze()`, `.init(…)`, `.filter(…)`, `.merge(…)`, `.map(…)` and `.apply(…)` without
      `inplace=True`;
    * functions: `dataclasses.replace`, `jdc.replace`, `copy.replace`, `eqx.tree_at`, `eqx.apply_updates`,
      `optax.apply_updates`, `eqx.nn.inference_mode`, `jax.device_put(tree, where)`, jax's `x.at[…]` methods, and
      `jax.tree.map` of a function that certainly has no effect;
    * `from_bytes` and `from_state_dict` of `flax.serialization`, where the function goes on with the frozen original;
    * methods of your own that return a copy of `self` made by one of these, or (undecorated) that only return a new
      instance of their own class, made from the values of `self`;
    * functions of your own, compiled or not, that only return a copy of a pytree that they are given, alone or in
      a tuple;
    * functions and methods of your own, mapped by `jax.vmap` or not, that certainly do nothing but compute another
      state of one that they are given, with loops, branches, `jax.tree.map` and others of that kind, if the code reads
      the original afterwards;
    * what a compiled function or method changes and returns, also where the class is mutable.

    If the type of an instance is unknown, `.replace(field=…)` is reported with medium confidence: the keywords must be
    fields of a class that is seen and is copied so, and no class that is seen may have a method of that name that works
    in place. `.replace(**changes)` and `._replace(field=…)` are reported if there is no other method of that name. nnx
    objects change in place: `optimizer.update(grads)` is no finding.

    ## Fix safety

    `state.replace(...)` on a line of its own becomes `state = state.replace(...)` where `state` is a variable of the
    function, or an attribute of an ordinary object; `state.x.at[i].set(v)` becomes
    `state = state.replace(x=state.x.at[i].set(v))` where instances are frozen. A parameter that the function does not
    return is returned from then on, and callers in the file bind what they passed to it. What was taken out of a list,
    a dict or an attribute is put back there. The fixes are unsafe: code that ran with the old values runs with the new
    ones. There is none where another variable, a list or a caller goes on with the original.

    ## When not to use it

    Write `_ = state.replace(…)` if the result is not wanted; that is not reported. Nor is

    * code that expects an error (`pytest.raises`), and the last expression of a cell in a script of `# %%` cells
      or of jupytext;
    * a test that sees that an update works or that the original stays (`assert before.x is state.x`), a benchmark, and
      a call that only compiles a function, unless something else is made of the original afterwards (or a loop does it
      and the original is returned);
    * what is all that runs in a `with` statement of your own, such as a timer, or in a list comprehension that counts;
    * a method of your own that does more, such as to raise an error, unless the copy is made with an argument;
    * `jax.tree.map` of several trees in a `try` statement, which fails where they differ, or of a function that makes
      one number of two leaves.

    An update with what the original holds already loses nothing, and is reported with low confidence only.

    ## References

    - [flax.struct](https://flax.readthedocs.io/en/latest/api_reference/flax.struct.html)
    - [jax.numpy.ndarray.at](https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html)
    - [flax #2041](https://github.com/google/flax/issues/2041)
    """

    code = "JAX403"
    name = "discarded-update"
    group = "updates"
    about_values = True
    since = "0.1.0"
    events = (Discard,)
    instance_calls = _LAST_OF_MOVED

    @staticmethod
    def wants(candidate: Candidate) -> bool:
        """Code that drops the results of functions that compute a new state from the one they are given."""
        return drops_states(candidate)

    def check_body(self, code: CodeRead, evaluator: Evaluator) -> Iterator[Problem]:
        """Look for what makes a new tree, too: `jax.tree.map`, and compiled functions that return what they change."""
        for statement in code.statements:
            match statement:
                case Do(value=Call(args=(_, tree, *_)) as call) if (
                    last_name(call.func) in _LAST_OF_TREE_MAPS and not call.has_star
                ):
                    name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
                    compares = len(call.positional) > 2 and not any(p is call for p in code.contents.expected_to_work)
                    if name in TREE_MAPS and not compares and not _may_fail(statement, code):
                        yield from self.check_event(_dropped(call, tree.value, name, code), evaluator)
                case Do(value=Call(args=(tree, *_)) as call) if last_name(call.func) in _LAST_OF_MOVED:
                    name = evaluator.model.resolver.library_name(call.func, code.place.module, code.scope)
                    if len(call.args) >= MOVED_COPIES.get(name, len(call.args) + 1) and not _may_fail(statement, code):
                        yield from self.check_event(_dropped(call, tree.value, name, code), evaluator)
                case Do(value=Call() as call):
                    renewed = renewed_by(call, code, evaluator) or computed_by(call, code, evaluator)
                    if renewed is not None:
                        yield from self.check_event(Discard(call.at, code.place, renewed, True), evaluator)

    def check_event(self, event: Event, evaluator: Evaluator) -> Iterator[Problem]:
        """Look at one update whose result nobody takes."""
        assert isinstance(event, Discard)
        update = event.update
        confidence = _confidence(update, evaluator)
        if confidence is not None and puts_back(update, evaluator):
            confidence = Confidence.LOW
        if confidence is None or is_refused(update) or _is_shown(event) or is_tried_update(update, evaluator):
            return
        if compiles_first(update, evaluator) or is_only_run(update, evaluator) or is_measured(update, evaluator):
            return
        base = base_text(update)
        way_out = _way_out(event, base, evaluator)
        yield Problem(
            at=event.at,
            message=(
                f"`{_call_text(update)}` makes {_made(update)} and leaves {f'`{base}`' if base else 'the original'}"
                f" as it is: the update is lost; {way_out}"
            ),
            reason="a functional update changes nothing in place; what it returns is the only place the change is in",
            help=way_out,
            confidence=confidence,
            fix=_assignment(event, base, evaluator),
        )


def _dropped(call: Call, tree: Expr, function: str, code: CodeRead) -> Discard:
    """What is lost where a statement is nothing but a call of a function that makes another tree of one."""
    made = Update(call.at, code.place, call, tree, UNKNOWN, function, ())
    return Discard(call.at, code.place, made, True)


def _may_fail(statement: Statement, code: CodeRead) -> bool:
    """Whether a statement may be there to fail: it is all that a `try` statement around it does."""
    around = (s for s in code.statements if isinstance(s, Try) and any(inside is statement for inside in s.body))
    return any(one.handlers and only_tries(one.body) for one in around)


def _confidence(update: Update, evaluator: Evaluator) -> Confidence | None:
    """How certain it is that the call does nothing but to make a copy; None if it is not."""
    model = evaluator.model
    if update.function in _MAPPING and not _is_pure(update, model):
        return None
    if update.function in TREE_MAPS:
        given, place, calls = update.call.args[0].value, update.place, evaluator.calls
        asks = isinstance(given, Lambda) and not isinstance(given.body, (Call, Binary, Conditional))
        if asks or not calls.effects.given_has_none(given, place.module, place.scope):
            return None  # `lambda leaf: leaf.shape` is shown in a notebook, `lambda a, b: None` compares structures
        return None if only_measures(update, model) else Confidence.HIGH
    if isinstance(update, Replace):
        return None if _may_differ(update) else Confidence.HIGH
    if any(update.function in some for some in (REPLACE_FUNCTIONS, UPDATE_FUNCTIONS, MOVED_COPIES)):
        return Confidence.HIGH
    if update.function in RESTORING:
        return Confidence.HIGH if _goes_on_unrestored(update, evaluator) else None
    if update.function.startswith("select."):
        return Confidence.HIGH
    if update.function.startswith("at."):
        return array_copy(update)
    if isinstance(update.receiver, UnknownValue) and _is_known_by_keywords(update, evaluator):
        return Confidence.MEDIUM
    return None


def _goes_on_unrestored(update: Update, evaluator: Evaluator) -> bool:
    """Whether a function goes on with what certainly is not restored in place: it may only want to know what fits."""
    instance, base, function = as_instance(update.receiver), base_text(update), update.place.function
    if instance is None or not instance.cls.frozen or base is None or function is None:
        return False
    body, end = evaluator.calls.body_of(FunctionSymbol(update.place.module, function)), place_of(update.call.at).end_row
    later = (s for s in walk(body or (), nested=False) if s.at.lineno > end)
    return any(dotted(part) == base for statement in later for part in own_parts(statement))


def _may_differ(update: Replace) -> bool:
    """Whether the instance may be of a subclass whose own method of that name changes it in place."""
    if update.receiver.exact or update.function not in UPDATE_METHODS:
        return False
    return any(
        update.function in cls.symbol.declaration.methods and cls.frozen is not True
        for cls in update.place.subclasses(update.receiver.cls)
        if not cls.framework.replace_overwrites
    )


def _is_known_by_keywords(update: Update, evaluator: Evaluator) -> bool:
    """Whether the keywords tell that an instance of a visible class is copied."""
    model = evaluator.model
    if update.call.has_star:
        return _is_known_by_spreading(update, model)
    if update.function == "_replace" and _is_named_tuple(update, model):
        return True
    if any(update.call.keyword(name) is not None for name in _OTHER_REPLACES[0]):
        return False
    names = frozenset(keyword.name for keyword in update.keywords)
    if names in _OTHER_REPLACES:
        return False
    roots = model.roots_seen(update.place.module)
    return model.visible_updates.only_copies(roots, update.function, names, _train_state_fields(update, evaluator))


def _is_trained(update: Update, evaluator: Evaluator) -> bool:
    """Whether the function around applies gradients to the variable of which a copy is made."""
    base, place = base_text(update), update.place
    if base is None or not place.functions:
        return False
    body = outermost_body(place, evaluator)
    calls = (part.func for part in all_parts(body) if isinstance(part, Call) and part.keyword("grads") is not None)
    return any(isinstance(f, Attribute) and f.attr == "apply_gradients" and dotted(f.value) == base for f in calls)


def _is_named_tuple(update: Update, model: PytreeModel) -> bool:
    """Whether `x._replace(f=v)` can only be that of a named tuple: it is private in all other classes.

    That is so for anything but `self` if no visible class has a method of that name.
    """
    if update.base is None or update.call.positional or not update.keywords:
        return False
    base = dotted(update.base)
    function = update.place.function
    if base is None or (function is not None and base == function.self_name):
        return False
    return not model.sees_other(update.place.module, update.function)


def _is_known_by_spreading(update: Update, model: PytreeModel) -> bool:
    """Whether `x.replace(**changes)` copies a state: no argument has a position, as those of `str.replace` have.

    That is so in modules that work with states of JAX, and not with tables, if no visible class has another method.
    """
    if update.function != "replace" or any(a.star != "**" for a in update.call.args):
        return False
    heads = {name.partition(".")[0] for level, name in update.place.module.outline.imported_modules if level == 0}
    if heads.isdisjoint(WITH_STATES) or not heads.isdisjoint(_OTHERS):
        return False
    return not model.sees_other(update.place.module, update.function)


def _train_state_fields(update: Update, evaluator: Evaluator) -> frozenset[str]:
    """The fields of flax's TrainState, if the module may hold one, or the function applies gradients to it."""
    imported = any(name.startswith(TRAINING) for _, name in update.place.module.outline.imported_modules)
    imported = imported or _is_trained(update, evaluator)
    symbol = described(TRAIN_STATE) if imported else None
    if not isinstance(symbol, ClassSymbol) or update.function not in ("replace", "apply_gradients"):
        return frozenset()
    return frozenset(f.name for f in symbol.declaration.fields)


def _is_pure(update: Update, model: PytreeModel) -> bool:
    """Whether the function that is mapped over the tree certainly has no effect of its own, as `print` would."""
    function = update.call.positional[0] if update.call.positional else None
    if isinstance(function, Lambda) and not isinstance(function.body, Call):
        return True
    called = function.body.func if isinstance(function, Lambda) and isinstance(function.body, Call) else function
    if called is None:
        return False
    symbol = model.resolver.resolve(called, update.place.module, update.place.scope)
    return isinstance(symbol, External) and symbol.name.startswith(("jax.", "numpy.")) and "debug" not in symbol.name


def _is_shown(event: Discard) -> bool:
    """Whether the statement ends a cell of a script, outside of functions: its value is shown."""
    module = event.place.module
    if event.place.functions or _CELL.search(module.source.text) is None:
        return False
    lines = module.source.text.split("\n")
    rows = [call.at.end_row for call in module.outline.module_calls if same(call, event.update.call)]
    return not rows or any(_ends_cell(lines, row) for row in rows)


def _ends_cell(lines: list[str], row: int) -> bool:
    """Whether a cell ends with a row; in the light format of jupytext, each paragraph is one that no marks hold."""
    following = next((line for line in lines[row:] if line.strip()), "")
    if not following or _CELL.match(following) or following.rstrip() == "# -":
        return True
    if lines[row].strip() or _LIGHT not in lines:
        return False
    mark = next((line for line in reversed(lines[:row]) if line.startswith(("# +", "# -"))), "# -")
    return mark.startswith("# -")


def _is_of(update: Update, base: str) -> bool:
    """Whether a variable is copied by nothing but updates, one around the other."""
    copied: Expr | None = update.base
    while isinstance(copied, Call) and last_name(copied.func) in UPDATE_METHODS:
        copied = copied.positional[0] if copied.positional else getattr(copied.func, "value", None)
    return copied is not None and dotted(copied) == base


def _call_text(update: Update) -> str:
    """The call, shortened."""
    group, _, method = update.function.rpartition(".")
    base = dotted(update.base) if update.base is not None else None
    if group == "at":
        return f"{base or ''}.at[...].{method}(...)"
    if group == "select":
        return f"select(...).{method}(...)"
    return f"{dotted(update.call.func) or '.' + method}(...)"


def _made(update: Update) -> str:
    """What the update returns."""
    if isinstance(update, Replace):
        return f"a new `{update.receiver.cls.name}`"
    if update.function in MOVED_COPIES:
        return "a copy"
    return "a new array" if update.function.startswith("at.") else "a changed copy"


def _is_in_tuple(update: Update) -> bool:
    return isinstance(update, Replace) and update.beside


@advising
def _way_out(event: Discard, base: str | None, evaluator: Evaluator) -> str:
    """Where the result should go."""
    update = event.update
    if base is None or _is_in_tuple(update):
        return "assign or return the result"
    method = update.place.method
    if method is not None and base == method.self_name:
        return "return the result and let the caller rebind it"
    if "." in base:
        return "put the result back into what holds it"
    if not is_own_variable(base, update.place):
        return "assign or return the result"
    if not event.is_alone:
        return f"assign the result to `{base}`, or return it"
    if _is_passed_over(base, event, evaluator):
        return f"make a new collection of copies: `{_call_text(update)}`"
    function = update.place.function
    if function is not None and not function.return_values and function.takes(base):
        body = evaluator.calls.body_of(FunctionSymbol(update.place.module, function)) or ()
        if not is_carried(base, update, body):
            return "return the result and let the caller rebind it"
    if lost := lost_help(base, "the result", event.at, update.place, evaluator):
        return lost
    direct = update.base is not None and dotted(update.base) == base and not update.function.startswith("select.")
    return f"write `{base} = {_call_text(update)}`" if direct else f"assign the result to `{base}`"


def _is_passed_over(base: str, event: Discard, evaluator: Evaluator) -> bool:
    """Whether a loop binds a name to one thing after another and reads it no more: a new value would change nothing."""
    function, row = event.place.function, place_of(event.at).row
    body = None if function is None else evaluator.calls.body_of(FunctionSymbol(event.place.module, function))
    around = [s for s in walk(body or ()) if isinstance(s, For) and s.at.lineno < row <= s.at.end_lineno]
    loop = next((s for s in around if base in target_names(s.target)), None)
    if loop is None:
        return False
    later = (s for s in walk(loop.body) if s.at.lineno > row)
    return not any(dotted(part) == base for statement in later for part in own_parts(statement))


@proposing
def _assignment(event: Discard, base: str | None, evaluator: Evaluator) -> Proposal | None:
    """The fix: assign the result to what is copied, if that is a variable of the function around, or held by one."""
    update = event.update
    if base is None or not event.is_alone or update.base is None or _is_in_tuple(update):
        return None
    if not _is_of(update, base) and not update.function.startswith("select."):
        return None
    if "." in base and not _may_hold(base, update.place, evaluator):
        return putting_into_holder(event, base, evaluator)
    root = base.partition(".")[0]
    if not is_own_variable(root, update.place):
        return None
    fix = Proposal(f"Assign the result to `{base}`", Applicability.UNSAFE, (AssignTo(event.at, base),))
    if "." in base:
        return fix
    change, is_array_update = AssignTo(event.at, base, is_returned=True), update.function.startswith("at.")
    return binding(fix, change, base, update.place, evaluator, is_array_update=is_array_update)


def _may_hold(base: str, place: Place, evaluator: Evaluator) -> bool:
    """Whether what is copied is an attribute of the instance of an ordinary or mutable class, and of nobody else."""
    method, owner = place.method, place.owner
    if method is None or owner is None or base.partition(".")[0] != method.self_name or base.count(".") > 1:
        return False
    is_mutable = owner.frozen is False or (not owner.is_pytree and not owner.is_dataclass and owner.bases_known)
    return is_mutable and not is_held_elsewhere(owner, base.partition(".")[2], evaluator)
