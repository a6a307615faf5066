"""Which optimizers of optax keep something from step to step, and so need the state that `update` returns (0.2.8).

And what makes an optimizer of functions.
"""

from __future__ import annotations

#: Functions whose optimizers hold moments, traces or counts that later steps are made from.
KEEPING = frozenset(
    f"optax.{name}"
    for name in (
        "adabelief adadelta adafactor adagrad adam adamax adamaxw adamw adan amsgrad lamb lars lion nadam nadamw"
        " novograd optimistic_gradient_descent radam rmsprop rprop sm3 yogi scale_by_adam scale_by_lion scale_by_rms"
        " trace ema"
    ).split()
)
#: Functions whose optimizers keep nothing, unless they are given a momentum.
KEEPING_WITH_MOMENTUM = frozenset({"optax.sgd"})
#: Functions that make one optimizer of several.
JOINING = frozenset({"optax.chain"})
#: Functions that make an optimizer of another one, which comes first.
WRAPPING = frozenset({"optax.apply_if_finite", "optax.MultiSteps"})
#: What makes an optimizer of two functions: the second one is given, after the gradients, what the first one returns.
OF_FUNCTIONS = frozenset({"optax.GradientTransformation", "optax.GradientTransformationExtraArgs"})
