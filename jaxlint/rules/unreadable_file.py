"""JAX001 unreadable-file."""

from jaxlint.rules.base import Rule


class UnreadableFile(Rule):
    """
    ## What it does

    Reports a file that cannot be read, decoded or parsed.

    What can be parsed and only the compiler refuses, such as `return` outside of a function, is left to Python.

    ## Why is this bad?

    Nothing in the file was checked. A linter that stays silent about it would make a broken file look clean.

    ## What you will see

    Python itself raises `SyntaxError`, `UnicodeDecodeError` or `OSError` when the file is imported.

    ## Example

    ```python
    class State(
    ```

    ## Use instead

    ```python
    class State: ...
    ```

    ## Frameworks

    All files, whatever they import.

    ## Fix safety

    There is no automatic fix.

    ## When not to use it

    Exclude files that are not meant to be Python, such as templates, with `exclude` in `[tool.jaxlint]`.

    In projects of more than half a megabyte, files that name no framework and import nothing that does are not parsed,
    so that syntax errors in them are not reported.

    ## References

    - [Python: lexical analysis](https://docs.python.org/3/reference/lexical_analysis.html#encoding-declarations)
    """

    code = "JAX001"
    name = "unreadable-file"
    group = "tool"
    since = "0.1.0"
