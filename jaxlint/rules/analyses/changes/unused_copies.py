"""Updated copies that nobody reads, where the original is what the code goes on with."""

from __future__ import annotations

from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.events import CodeRead, Update
from jaxlint.rules.analyses.changes.part_kept import OPTIMIZER_STEP
from jaxlint.syntax.expressions import dotted
from jaxlint.syntax.statements import For, While, parts

#: What is called where something is only run to be watched.
WATCHING = (
    *("timeit.", "tracemalloc.", "jax.profiler.", "jax.live_arrays", "jax.debug_nans", "jax.log_compiles"),
    *("jax.checking_leaks", "jax.disable_jit", "warnings.catch_warnings", "pytest.warns"),
)
#: What is called where an update is only measured, or looked at while it runs.
_MEASURING = ("time.", *WATCHING)
#: The method of compiled functions that tells how many programs they have made, and what reads all variables.
_ASKING = frozenset({"_cache_size", "locals"})


def measures(code: CodeRead, evaluator: Evaluator) -> bool:
    """Whether a body measures what it calls, or looks at all its variables: copies may be wanted for nothing else."""
    if not _ASKING.isdisjoint(code.contents.called):
        return True
    named = evaluator.model.resolver.library_name
    return any(named(call.func, code.place.module, code.scope).startswith(_MEASURING) for call in code.calls)


def goes_on_with_original(update: Update, original: str, code: CodeRead) -> bool:
    """Whether a copy that nobody reads was to take the place of the original.

    It is a step of an optimizer; or it is computed from the original, in a loop that begins with that at each turn, or
    of an attribute, which the next call finds as it was. A test may only see that the update works. Where the original
    is updated once more, JAX408 tells.
    """
    bases = (e.base for e in code.events if isinstance(e, Update) and e is not update)
    if any(base is not None and dotted(base) == original for base in bases):
        return False
    if any(function.name.startswith("test") for function in code.place.functions):
        return False
    if update.function == OPTIMIZER_STEP:
        return True
    given = (argument.value for argument in update.call.args if argument.keyword is not None)
    if not any((dotted(part) or "").startswith(f"{original}.") for value in given for part in parts(value)):
        return False
    loops = (s for s in code.statements if isinstance(s, (For, While)))
    is_in_loop = any(part is update.call for loop in loops for part in code.contents.in_loop(loop))
    owner = code.place.owner
    return is_in_loop or (original.startswith("self.") and (owner is None or not owner.is_pytree))
