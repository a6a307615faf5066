"""JAX106 unsupported-option."""

from __future__ import annotations

from collections.abc import Iterator

from jaxlint.cst.changes import Proposal, Remove
from jaxlint.finding import Applicability
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.pytrees.model import PytreeClass
from jaxlint.pytrees.options import unsupported_options
from jaxlint.rules.base import ClassRule, Problem


class UnsupportedOption(ClassRule):
    """
    ## What it does

    Finds options of a decorator, and class keywords, that the framework does not take: `slots=True` with chex,
    `kw_only=True` as a class keyword of an `equinox.Module`, `frozen=False` with jax_dataclasses.

    ## Why is this bad?

    Each framework takes other options than `dataclasses.dataclass`. The others are refused when the class is created:
    the module cannot be imported.

    ## What you will see

    `TypeError: dataclass() got an unexpected keyword argument 'slots'`, `TypeError: Point.__init_subclass__() takes no
    keyword arguments`, `TypeError: Cannot overwrite attribute __setattr__ in class Point` (slots of a PyTreeNode),
    `TypeError: Pytree currently does not support __slots__` (nnx) or `AssertionError: Pytree dataclasses can only be
    frozen!` (jax_dataclasses).

    ## Example

    ```python
    import chex

    @chex.dataclass(slots=True)
    class Point:
        x: chex.Array
    ```

    ## Use instead

    ```python
    import chex

    @chex.dataclass
    class Point:
        x: chex.Array
    ```

    ## Frameworks

    chex takes no `slots`, `match_args` and `weakref_slot`; tjax only `init`, `repr`, `eq`, `order` and `frozen`; penzai
    no `slots`, `frozen` and `unsafe_hash`; simple_pytree no `kw_only` and `slots`; nnx no `repr`, `frozen` and slots;
    jax_dataclasses no `frozen=False`. As class keywords equinox takes `strict`, simple_pytree `mutable`, nnx `pytree`,
    mjx `register_as_pytree`, penzai none, and PyTreeNode all options but `slots`.

    ## Fix safety

    The option is removed. The fix is safe: the class could not be created.

    ## When not to use it

    Options that only a newer version of the framework takes are taken to be supported. Class keywords are left alone if
    a base class of the project has an `__init_subclass__`.

    ## References

    - [dataclasses.dataclass](https://docs.python.org/3/library/dataclasses.html#dataclasses.dataclass)
    - [chex.dataclass](https://chex.readthedocs.io/en/latest/api.html#module-chex._src.dataclass)
    """

    code = "JAX106"
    name = "unsupported-option"
    group = "declaring"
    since = "0.1.0"

    def check_class(self, cls: PytreeClass, evaluator: Evaluator) -> Iterator[Problem]:
        """Compare the options with what the framework takes."""
        for option in unsupported_options(cls):
            what = f"`{option.name}=False`" if option.value_matters else f"`{option.name}`"
            if option.given_by is not None:
                at, alias = option.given_by
                way_out = f"remove it where `{alias}` is made"
                yield Problem(
                    at=at,
                    message=(
                        f"`{alias}` gives {option.refused_by} the option {what}, which it does not take: `{cls.name}`"
                        f" cannot be created ({option.exception}); {way_out}"
                    ),
                    reason=f"`{option.exception}: … {option.text} …` is raised when the class is created",
                    help=way_out,
                )
                continue
            yield Problem(
                at=option.value.at,
                message=(
                    f"{option.refused_by} does not take {what}: `{cls.name}` cannot be created ({option.exception});"
                    f" remove it"
                ),
                reason=f"`{option.exception}: … {option.text} …` is raised when the class is created",
                help=f"remove {what}",
                fix=Proposal(f"Remove {what}", Applicability.SAFE, (Remove(option.value.at),)),
            )
