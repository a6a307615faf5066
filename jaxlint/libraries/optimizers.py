"""Which optimizers of optax keep something from step to step, and so need the state that `update` returns (0.2.8).

And what makes an optimizer of functions, and what makes a schedule.
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
#: Functions that return an array, of trees or of arrays: norms and losses.
RETURNING_ARRAYS = frozenset(
    f"optax.{name}"
    for name in (
        "global_norm safe_norm safe_root_mean_squares l2_loss squared_error huber_loss log_cosh cosine_similarity"
        " cosine_distance hinge_loss kl_divergence ctc_loss sigmoid_binary_cross_entropy softmax_cross_entropy"
        " softmax_cross_entropy_with_integer_labels sigmoid_focal_loss smooth_labels"
    ).split()
)
#: Functions that return a schedule, which is a function of the step; by their source, too.
SCHEDULES = frozenset(
    f"{module}.{name}"
    for module in ("optax", "optax.schedules", "optax.schedules._schedule", "optax.schedules._join")
    for name in (
        "constant_schedule cosine_decay_schedule cosine_onecycle_schedule exponential_decay join_schedules"
        " linear_onecycle_schedule linear_schedule piecewise_constant_schedule piecewise_interpolate_schedule"
        " polynomial_schedule sgdr_schedule warmup_constant_schedule warmup_cosine_decay_schedule"
        " warmup_exponential_decay_schedule"
    ).split()
)
#: What such a function is an instance of, by the name of the type.
SCHEDULE = "optax.Schedule"
#: The only one of them that returns what it was given, and no array.
CONSTANT_SCHEDULE = "constant_schedule"
