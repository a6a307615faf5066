"""Run many programs in one process and say what each of them did; also run by Python 3.9, without dependencies.

Each line of the standard input is a job in JSON, {"id", "folder", "calls": [expression, ..]}. Every program is
`main.py` in its folder and runs as `python main.py` would there: as `__main__`, the folder first in `sys.path`, nothing
of the program before it left in `sys.modules`. The expressions are then evaluated in its namespace, one by one.
The standard output gets the version of jax as soon as it is imported, then one JSON object per line when a program has
ended.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from typing import Any


def describe(error: BaseException) -> dict[str, Any]:
    """The exception's types (its own, then its bases) and text."""
    return {"types": [cls.__name__ for cls in type(error).__mro__], "text": str(error)}


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run one program and its calls."""
    folder = os.path.abspath(job["folder"])
    path = os.path.join(folder, "main.py")
    outcome: dict[str, Any] = {"id": job["id"], "error": None, "calls": []}
    before, main, search = set(sys.modules), sys.modules["__main__"], list(sys.path)
    module = types.ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    output = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(output):
        warnings.simplefilter("always")
        try:
            with open(path, encoding="utf-8") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True)
            exec(code, module.__dict__)
            for call in job["calls"]:
                try:
                    value = eval(call, module.__dict__)
                    outcome["calls"].append({"call": call, "value": repr(value), "error": None})
                except Exception as error:
                    outcome["calls"].append({"call": call, "value": None, "error": describe(error)})
        except (Exception, SystemExit) as error:
            outcome["error"] = describe(error)
    outcome["output"] = output.getvalue()
    outcome["warnings"] = [w.category.__name__ + ": " + str(w.message) for w in caught]
    sys.modules["__main__"] = main
    sys.path[:] = search
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(folder + os.sep):
            del sys.modules[name]
    return outcome


def prepare() -> str:
    """Import jax, and make treex importable: 0.6.9 wants a private name of jax that 0.4.13 has no more."""
    import jax

    version = tuple(int(part) for part in jax.__version__.split(".")[:3])
    if version <= (0, 4, 13):
        lax_numpy = importlib.import_module("jax._src.numpy.lax_numpy")
        lax_numpy.__dict__["ndarray"] = jax.Array
    if version >= (0, 10):
        share("jax._src.interpreters.mlir", "make_ir_context")
        share("jax._src.compilation_cache", "get_executable_and_time")
    return jax.__version__


def texts(folder: str) -> Iterator[str]:
    """The texts of the modules of a program."""
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(place, name), encoding="utf-8") as file:
                    yield file.read()


def forget_calls(folder: str) -> None:
    """Let no program that donates see that one before it has called the same function of jax.

    It is answered elsewhere since, and what an operator raises for an array that was donated differs between its first
    call and the next.
    """
    if not any("donat" in text for text in texts(folder)):
        return
    for name in ("jaxlib._jax", "jaxlib.xla_extension"):
        calls = getattr(sys.modules.get(name), "PjitFunctionCache", None)
        if calls is not None:
            calls.clear_all()


#: What is shared by programs, by function and first argument.
SHARED: dict[tuple[str, ...], Any] = {}


def share(module: str, name: str) -> None:
    """Let all programs have what a function of jax returns for the same first argument, if there is such a function.

    A context of MLIR takes longer to make than a small program to trace, and what XLA has compiled longer to load. Both
    are the same for all programs, and jax makes them anew for each function that it compiles.
    """
    made = getattr(importlib.import_module(module), name, None)
    if made is None:
        return

    def shared(*arguments: Any) -> Any:
        key = (name, *map(str, arguments[:1]))
        found = SHARED.get(key) or made(*arguments)
        # None is what is not compiled yet
        if threading.current_thread() is threading.main_thread() and found != (None, None):
            SHARED[key] = found
        return found

    setattr(sys.modules[module], name, shared)


def main() -> None:
    """Run all jobs."""
    with os.fdopen(os.dup(0), encoding="utf-8") as jobs, os.fdopen(os.dup(1), "w", encoding="utf-8") as outcomes:
        # programs read nothing, and what they write past `sys.stdout` is no outcome
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        print(json.dumps(prepare()), file=outcomes, flush=True)
        gc.disable()  # hundreds of programs leave less behind than it takes to look for it again and again
        for number, line in enumerate(jobs, 1):
            job = json.loads(line)
            forget_calls(job["folder"])
            print(json.dumps(run(job)), file=outcomes, flush=True)
            if number % 1000 == 0:
                sys.modules["jax"].clear_caches()
                SHARED.clear()
                gc.collect()
                gc.freeze()  # what is left are the libraries, and is not looked at again


if __name__ == "__main__":
    os.environ["JAX_PLATFORMS"] = "cpu"
    main()
