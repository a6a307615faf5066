"""Calls of functions and lambdas inside the code that is being read."""

from __future__ import annotations

from jaxlint.infer.evaluating.closures import Closure
from jaxlint.infer.evaluating.evaluate import Evaluator
from jaxlint.infer.evaluating.notes import ANY_ERROR, Notes
from jaxlint.infer.known.deferred import known
from jaxlint.infer.known.environment import Environment
from jaxlint.infer.known.values import (
    UNKNOWN,
    LocalFunction,
    LocalFunctionValue,
    Value,
)
from jaxlint.infer.transforms.transformed import TransformedFunctions
from jaxlint.symbols.outline import Function, Parameter
from jaxlint.syntax.expressions import Call, Lambda
from jaxlint.syntax.statements import Return

_MAX_CALL_DEPTH = 6


class LocalCalls:
    """Evaluates calls of local functions; an evaluator of calls does."""

    evaluator: Evaluator
    notes: Notes
    transformed: TransformedFunctions
    #: How deep the calls are that are being followed, and how many lambdas were seen.
    depth = 0
    lambdas = 0

    def local_function(self, expr: Lambda, env: Environment) -> LocalFunctionValue:
        """A lambda as a value; its body is not read yet."""
        self.lambdas += 1
        declaration = _declaration(expr, env.scope, self.lambdas)
        closure = Closure(
            node=expr,
            declaration=declaration,
            module=env.module,
            outer=env,
            place=self.notes.place,
            reader=self.notes.reader,
        )
        return LocalFunctionValue(closure)

    def lambda_value(self, expr: Lambda, env: Environment) -> Value:
        """A lambda whose caller is not known: its body is read with unknown parameters."""
        value = self.local_function(expr, env)
        self.run(value.function, [])
        return value

    def expecting_error(self, call: Call, env: Environment) -> Value:
        """`assertRaises(Error, function, ...)`: what the function does is meant to fail."""
        with self.notes.muted():
            for arg in call.args:
                value = self.evaluator.evaluate(arg.value, env)
                if isinstance(value, LocalFunctionValue):
                    value.function.read = True
        return UNKNOWN

    def run(self, function: LocalFunction, arguments: list[Value] | None) -> Value:
        """Call a local function or lambda: what it returns. Arguments become known to its parameters."""
        assert isinstance(function, Closure)
        if self.notes.expected & ANY_ERROR:
            function.read = True  # called where it is meant to fail
        if function.running or self.depth > _MAX_CALL_DEPTH:
            return UNKNOWN
        function.running = True
        self.depth += 1
        around, self.notes.reader = self.notes.reader, function.reader
        try:
            if isinstance(function.node, Lambda):
                return self._run_lambda(function, function.node, arguments or [])
            return UNKNOWN if function.reader is None else function.reader.call(function, arguments)
        finally:
            function.running = False
            self.depth -= 1
            self.notes.reader = around

    def _run_lambda(self, function: Closure, node: Lambda, arguments: list[Value]) -> Value:
        env = function.outer.copy()
        for index, name in enumerate(node.params):
            env.bind(name, arguments[index] if index < len(arguments) else UNKNOWN)
        parameters = {name: known(held) for name, held in env.values.items()}
        since = len(self.notes.events or ())
        result = self.evaluator.evaluate(node.body, env)
        if self.notes.active is not None and self.transformed.of(function.declaration, env.module):
            self.notes.code((Return(node.body.at, node.body),), function.declaration, parameters, since)
        return result


def _declaration(node: Lambda, scope: str, number: int) -> Function:
    """A lambda as a function; the number tells it from others."""
    return Function(
        name="<lambda>",
        qualname=f"{scope}.<lambda {number}>",
        scope=scope,
        owner=None,
        parameters=tuple(Parameter(name, None, None, "positional", node.at) for name in node.params),
        decorators=(),
        returns=None,
        at=node.at,
        is_async=False,
        return_values=(node.body,),
    )
