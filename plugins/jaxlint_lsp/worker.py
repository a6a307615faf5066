"""One thread in which all is worked out, so that the event loop always answers."""

from __future__ import annotations

import asyncio
import gc
import heapq
import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeVar

T = TypeVar("T")

_STACK_BYTES = 64 * 1024 * 1024
_IDLE_SECONDS = 0.5
#: After so long without a job what is needed for fixes is loaded, once something was looked at.
_LOADING_SECONDS = 0.05
_MOST_JOBS = 100
_FULL_EVERY = 10


class Urgency(IntEnum):
    """What goes first."""

    REQUEST = 0
    CHECK = 1
    BACKGROUND = 2


class Stale(Exception):
    """Nobody needs the result any more, or something more urgent came in between."""


class _Stop(BaseException):
    """Ends a job; no rule takes it for a failure of its own."""


@dataclass(order=True)
class _Job:
    urgency: Urgency
    number: int
    work: Callable[[], Any] = field(compare=False)
    is_stale: Callable[[], bool] = field(compare=False)
    future: asyncio.Future[Any] = field(compare=False)


class _Garbage:
    """What jobs leave behind. It is collected when there is nothing else to do, the old of it only now and then."""

    def __init__(self) -> None:
        self._jobs = 0
        self._collections = 0

    @property
    def patience(self) -> float | None:
        """After how many seconds without a job it is to be collected; None if there is none."""
        return _IDLE_SECONDS if self._jobs else None

    def note(self) -> None:
        """A job is done."""
        self._jobs += 1
        if self._jobs > _MOST_JOBS:
            self.collect()

    def collect(self) -> None:
        """Collect it. The event loop stands still meanwhile."""
        self._collections += 1
        gc.collect(1 if self._collections % _FULL_EVERY else 2)
        self._jobs = 0


class Worker:
    """Runs jobs one at a time, the most urgent first. A job calls `step` often: that ends it once it is stale."""

    def __init__(self) -> None:
        self._jobs: list[_Job] = []
        self._numbers = 0
        self._ready = threading.Condition()
        self._running: _Job | None = None
        self._garbage = _Garbage()

    def start(self) -> None:
        """Start the thread. It ends with the process."""
        size = threading.stack_size(_STACK_BYTES)
        try:
            threading.Thread(target=self._work, name="jaxlint", daemon=True).start()
        finally:
            threading.stack_size(size)

    async def run(self, work: Callable[[], T], urgency: Urgency, is_stale: Callable[[], bool] = lambda: False) -> T:
        """What `work` returns, or raises. Raises `Stale` if it was not run to its end because `is_stale` says so."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with self._ready:
            self._numbers += 1
            heapq.heappush(self._jobs, _Job(urgency, self._numbers, work, is_stale, future))
            self._ready.notify()
        return await future

    def step(self) -> None:
        """End the running job if it is stale."""
        job = self._running
        if job is not None and (job.future.cancelled() or job.is_stale() or self._is_in_the_way(job)):
            raise _Stop

    def _is_in_the_way(self, job: _Job) -> bool:
        return job.urgency is Urgency.BACKGROUND and bool(self._jobs) and self._jobs[0].urgency < job.urgency

    def _work(self) -> None:
        gc.disable()  # a collection would come at any time; garbage is collected when there is nothing else to do
        is_loaded = False
        while True:
            with self._ready:
                while not self._jobs:
                    patience = self._garbage.patience
                    is_idle = not self._ready.wait(patience if is_loaded or patience is None else _LOADING_SECONDS)
                    if is_idle and not is_loaded:
                        importlib.import_module("jaxlint.cst.rewriting")  # what the first fix would wait for
                        is_loaded = True
                    elif is_idle:
                        self._garbage.collect()
                self._running = job = heapq.heappop(self._jobs)
            self._do(job)
            self._running = None
            self._garbage.note()

    def _do(self, job: _Job) -> None:
        result: Any = None
        error: Exception | None = None
        try:
            self.step()
            result = job.work()
        except _Stop:
            error = Stale()
        except Exception as raised:
            error = raised

        def tell() -> None:
            if job.future.done():
                return
            if error is not None:
                job.future.set_exception(error)
            else:
                job.future.set_result(result)

        try:
            job.future.get_loop().call_soon_threadsafe(tell)
        except RuntimeError:  # the loop is closed: the server ends
            return
