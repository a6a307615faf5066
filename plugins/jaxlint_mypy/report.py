"""Findings as errors of mypy: the same messages, an error code for each rule, and the link to its page on request."""

from __future__ import annotations

from mypy.checker import TypeChecker
from mypy.nodes import Context
from mypy.plugin import CheckerPluginInterface, SemanticAnalyzerPluginInterface

from jaxlint.project.modules import Module
from jaxlint.rules.base import Problem, Rule
from jaxlint.syntax.ast_expressions import place_of
from jaxlint.syntax.expressions import Span
from jaxlint_mypy.codes import code_of
from jaxlint_mypy.front import FrontEnd


def report(
    front: FrontEnd,
    api: CheckerPluginInterface | SemanticAnalyzerPluginInterface,
    problem: Problem,
    rule: Rule,
    module: Module,
) -> None:
    """Report a problem of the file that is being checked, unless a comment of jaxlint's own silences it."""
    if problem.at is None:
        return
    span = place_of(problem.at)
    if front.is_left_out(problem, rule, module, span):
        return
    code = code_of(rule)
    where = place(span)
    api.fail(problem.message, where, code=code)
    if front.options.show_error_code_links and isinstance(api, TypeChecker):
        api.note(f"See {rule.url()}", where, code=code)


def place(span: Span) -> Context:
    """A place in the file that is being checked."""
    context = Context(span.row, span.column)
    context.end_line, context.end_column = span.end_row, span.end_column
    return context
