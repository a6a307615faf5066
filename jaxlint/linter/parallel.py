"""Checking modules in several processes: each makes outlines of some files, and then checks them, knowing all.

The outlines go from one process to the others in packs (`jaxlint.cache.packs`): in the cache, or in a folder of the
run. What cannot be written is made again by the process that needs it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from jaxlint.errors import UserError
from jaxlint.finding import Finding
from jaxlint.linter.storage import Storage, is_large
from jaxlint.project.modules import Module, Project
from jaxlint.project.reached import Noted
from jaxlint.symbols.links import Links
from jaxlint.syntax.paths import stamp
from jaxlint.syntax.source import Unreadable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from jaxlint.cache.packs import Place
    from jaxlint.config.settings import Settings
    from jaxlint.project.index import ProjectIndex

#: From how many bytes of source on a second process pays, by how processes are started (measured: docs/performance.md).
PAYS_FROM = {"fork": 400_000, "spawn": 1_500_000}
#: In how many parts the work of a process is handed out: the more, the evener is it spread.
_PARTS = 8

#: What is known of a file: the digest of its content, what is wrong with it, what it imports.
_Known = tuple[bytes | None, tuple[str, int | None, int | None] | None, Links | None]


class _Plan(NamedTuple):
    """What a process has to know to do as the one that started it."""

    settings: Settings
    roots: tuple[str, ...]
    site_packages: tuple[str, ...]
    modules: tuple[str, ...]
    neighbours: tuple[str, ...]
    known: tuple[Place, ...]
    place: Place | None
    is_large: bool


def start_method() -> str:
    """How processes are started: forked where that is safe, because it is faster."""
    import threading

    is_safe = sys.platform != "darwin" and threading.active_count() == 1
    return "fork" if is_safe and hasattr(os, "fork") else "spawn"


class Workers:
    """The processes of a run; they are started when they are needed."""

    def __init__(
        self,
        project: Project,
        settings: Settings,
        modules: Sequence[Module],
        neighbours: Sequence[Module],
        storage: Storage,
    ) -> None:
        self._project = project
        self._settings = settings
        self._modules = modules
        self._neighbours = neighbours
        self._storage = storage
        self._method = start_method()
        self._processes: list[tuple[Any, Connection]] = []
        self._owners: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        #: What each module adds to the index, encoded.
        self.parts: dict[str, bytes] = {}

    def pay(self, modules: Sequence[Module]) -> bool:
        """Whether several processes are faster at reading or checking these modules."""
        if self._storage.jobs < 2 or len(modules) < 2:
            return False
        bound = PAYS_FROM[self._method]
        total = 0
        for module in modules:
            total += self._size(module)
            if total >= bound:
                from multiprocessing import current_process

                return not current_process().daemon  # which may start none
        return False

    # -- the two steps ----------------------------------------------------------------------

    def build_index(self, modules: Sequence[Module], advance: Callable[[], None] = lambda: None) -> None:
        """Find out the facts of the modules in all processes, if that pays."""
        modules = [m for m in modules if m.content is None and m.problem is None]
        if not self.pay(modules):
            return
        for part, reply in self._spread("build_index", modules):
            known: list[_Known] = reply
            for module, said in zip(part, known, strict=True):
                _take(module, said)
                advance()

    def adopt(self, project_index: ProjectIndex | None) -> ProjectIndex | None:
        """Tell all processes what is known of the project, else find that out in all of them.

        All modules must have been indexed. Returns what is known now; nothing if each process has to find out itself.
        """
        self._share()
        if project_index is None:
            project_index = self._merged()
        if project_index is not None:
            self._ask_all("adopt", repeat(msgspec.msgpack.encode(project_index)))
        return project_index

    def _merged(self) -> ProjectIndex | None:
        """What the modules tell of the project; nothing if it depends on the order in which they are asked."""
        from jaxlint.linter.prefilter import framework_packages
        from jaxlint.project.index import ProjectIndex
        from jaxlint.project.reachability import import_graph

        seen = [m for m in (*self._modules, *self._neighbours) if not m.is_irrelevant]
        graph = import_graph(seen, self._project, framework_packages(self._settings))
        project_index = ProjectIndex(graph)
        self._ask_all("adopt", repeat(msgspec.msgpack.encode(project_index)))
        relevant = [m for m in seen if m.path in graph.relevant]
        for part, reply in self._spread("tell", relevant):
            self.parts |= zip([m.path for m in part], reply, strict=True)
        decode = msgspec.msgpack.Decoder(ProjectIndex).decode
        for module in relevant:
            project_index.add(decode(self.parts[module.path]))
        if project_index.cycles:
            return None
        project_index.close()
        return project_index

    def check(self, modules: Sequence[Module], advance: Callable[[], None]) -> tuple[list[Finding], list[str]]:
        """The findings of the modules, in no certain order, and what failed; the project must be known."""
        findings: list[Finding] = []
        failed: list[str] = []
        for part, found in self._spread("check", modules):
            findings += found
            for _ in part:
                advance()
        for paths, listed, beginnings, reached, errors in self._ask_all("read", repeat(None)):
            failed += errors
            self._project.read_elsewhere |= paths
            self._project.folders.note_elsewhere(listed, beginnings)
            self._project.reached.add(reached)
        return findings, failed

    def _share(self) -> None:
        """Tell all processes what each has found out."""
        self._start()
        places: list[Place | None] = self._ask_all("packs", repeat(None))
        written = [place for place in places if place is not None]
        files = {m.path: _known_of(m) for m in (*self._modules, *self._neighbours)}
        self._ask_all("known", repeat((written, files)))

    def _ask_all(self, command: str, arguments: Iterable[Any]) -> list[Any]:
        """What all processes reply."""
        for (_, connection), argument in zip(self._processes, arguments):  # noqa: B905 - of some there is no end
            _send(connection, (command, argument))
        return [_receive(connection) for _, connection in self._processes]

    # -- processes --------------------------------------------------------------------------

    def _start(self) -> None:
        if self._processes:
            return
        from multiprocessing import get_context

        context: Any = get_context(self._method)
        project = self._project
        large = is_large(m.path for m in (*self._modules, *self._neighbours))
        for _ in range(self._storage.jobs):
            plan = _Plan(
                self._settings,
                project.roots,
                project.site_packages,
                tuple(m.path for m in self._modules if not m.is_irrelevant),
                tuple(m.path for m in self._neighbours if not m.is_irrelevant),
                tuple(self._storage.known),
                self._storage.new_place(),
                large,
            )
            ours, theirs = context.Pipe()
            connections = [connection for _, connection in self._processes]
            arguments = (theirs, plan, [*connections, ours] if self._method == "fork" else [])
            process = context.Process(target=_serve, args=arguments, daemon=True)
            try:
                with _without_interrupts():
                    process.start()
            except OSError as error:
                raise UserError(f"cannot start a process: {error.strerror or error}; try `--jobs 1`") from error
            theirs.close()
            self._processes.append((process, ours))

    def _spread(self, command: str, modules: Sequence[Module]) -> Iterator[tuple[list[Module], Any]]:
        """Have all processes do a part of the work at a time, and give what each replies."""
        from multiprocessing.connection import Connection, wait

        self._start()
        queues = self._queues(modules)
        waiting: dict[Connection, tuple[int, list[Module]]] = {}

        def hand_out(number: int) -> None:
            longest = max(queues, key=len)
            if not longest:
                return
            part = queues[number].popleft() if queues[number] else longest.pop()
            connection = self._processes[number][1]
            _send(connection, (command, [m.path for m in part]))
            waiting[connection] = number, part
            for module in part:
                self._owners.setdefault(module.path, number)

        for number in range(len(self._processes)):
            hand_out(number)
        while waiting:
            for ready in wait(list(waiting)):
                assert isinstance(ready, Connection)
                number, part = waiting.pop(ready)
                reply = _receive(ready)
                hand_out(number)
                yield part, reply

    def _queues(self, modules: Sequence[Module]) -> list[deque[list[Module]]]:
        """The parts for each process: what it has read already, else neighbouring files of the same total size."""
        count = len(self._processes)
        total = sum(self._size(m) for m in modules) or 1
        queues: list[deque[list[Module]]] = [deque() for _ in range(count)]
        part_size = total / (count * _PARTS)
        filled = [part_size] * count
        done = 0
        for module in modules:
            number = self._owners.get(module.path, min(int(done * count / total), count - 1))
            if filled[number] >= part_size:
                queues[number].append([])
                filled[number] = 0
            queues[number][-1].append(module)
            filled[number] += self._size(module)
            done += self._size(module)
        return queues

    def _size(self, module: Module) -> int:
        size = self._sizes.get(module.path)
        if size is None:
            size = self._sizes[module.path] = stamp(module.path)[1]
        return size

    def end(self, *, failed: bool) -> None:
        """End the processes; if the run has failed, whatever they do."""
        for process, connection in self._processes:
            connection.close()  # which ends the process when it next waits for work
            if failed:
                process.terminate()
        for process, _ in self._processes:
            process.join()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from what is started, which this process ends; this process gets it a little later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _known_of(module: Module) -> _Known:
    """What is known of a module, as it is sent."""
    problem = module.problem
    said = None if problem is None else (problem.message, problem.row, problem.column)
    return module.content, said, module.known_links


def _take(module: Module, said: _Known) -> None:
    """Take what another process knows of a module."""
    content, problem, links = said
    module.adopt(content, None if problem is None else Unreadable(*problem), links)


def _send(connection: Connection, message: tuple[str, Any]) -> None:
    try:
        connection.send(message)
    except OSError as error:
        raise _ended() from error


def _receive(connection: Connection) -> Any:
    try:
        is_fine, reply = connection.recv()
    except (EOFError, OSError) as error:
        raise _ended() from error
    if not is_fine:
        raise RuntimeError(reply)
    return reply


def _ended() -> UserError:
    return UserError("one of the processes was ended from outside, perhaps for want of memory; try `--jobs 1`")


# -- in the other processes ---------------------------------------------------------------------


def _serve(connection: Connection, plan: _Plan, inherited: Sequence[Connection]) -> None:
    """Answer until the other side is gone."""
    from threading import Thread

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()
    Thread(target=_end_with_parent, daemon=True).start()
    server = _Server(plan)
    while True:
        try:
            command, argument = connection.recv()
        except (EOFError, OSError):
            server.close()
            return
        try:
            reply = True, getattr(server, command)(argument)
        except Exception as error:
            reply = False, f"{type(error).__name__}: {error}"
        try:
            connection.send(reply)
        except OSError:
            return


def _end_with_parent() -> None:
    """End this process as soon as the one that started it is gone, as after SIGTERM, whatever it is doing.

    Nobody would take its answer, and who waits for the output of the run would wait for this process, too.
    """
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _Server:
    """What a process can be asked to do."""

    def __init__(self, plan: _Plan) -> None:
        import gc

        from jaxlint.cache.packs import PackWriter, open_packs
        from jaxlint.linter.checker import Checker
        from jaxlint.project.modules import Project
        from jaxlint.symbols.facts import FactsStore

        gc.disable()
        self._plan = plan
        project = Project(plan.roots, plan.site_packages)
        writer = None if plan.place is None else PackWriter(*plan.place)
        self._store = project.store = FactsStore(open_packs(plan.known), writer, is_large=lambda: plan.is_large)
        self._checker = Checker(project, plan.settings)
        self._is_known = False

    def build_index(self, paths: list[str]) -> list[_Known]:
        """The facts of these files; outlines stay in this process and go into its pack."""
        known = []
        for path in paths:
            module = self._checker.project.add_file(path)
            _ = module.imports
            module.forget_source()
            known.append(_known_of(module))
        return known

    def packs(self, _: None) -> Place | None:
        """Finish the pack, and say where it is."""
        writer = self._store.writer
        self._store.writer = None
        return self._plan.place if writer is not None and writer.close() else None

    def known(self, argument: tuple[list[Place], dict[str, _Known]]) -> None:
        """Take what all processes have found out."""
        from jaxlint.cache.packs import open_packs

        places, files = argument
        self._store.add_packs(open_packs(places))
        for path, said in files.items():
            module = self._checker.project.add_file(path)
            if module.content is None and module.problem is None:
                _take(module, said)

    def adopt(self, encoded: bytes) -> None:
        """Take what is known of the project."""
        from jaxlint.project.index import ProjectIndex

        self._checker.adopt(msgspec.msgpack.decode(encoded, type=ProjectIndex))
        self._is_known = True

    def tell(self, paths: list[str]) -> list[bytes]:
        """What these files tell of the project."""
        found = []
        for path in paths:
            found.append(msgspec.msgpack.encode(self._checker.part_of(self._checker.project.add_file(path))))
            self._checker.evict()
        self._is_known = False
        return found

    def check(self, paths: list[str]) -> list[Finding]:
        """The findings of these files."""
        from jaxlint.linter.checker import Checker

        project = self._checker.project
        if not self._is_known:
            errors = self._checker.errors
            self._checker = Checker(project, self._plan.settings)  # which has built nothing yet
            self._checker.errors = errors
            modules = [project.add_file(path) for path in self._plan.modules]
            self._checker.build_index(modules, neighbours=[project.add_file(path) for path in self._plan.neighbours])
            self._is_known = True
        findings: list[Finding] = []
        for path in paths:
            findings += self._checker.check(project.add_file(path))
            self._checker.evict()
        return findings

    def read(self, _: None) -> tuple[set[str], set[str], dict[str, bool], Noted, list[str]]:
        """The modules read, folders listed, beginnings of projects, links between modules, and failures."""
        project = self._checker.project
        folders, errors = project.folders, self._checker.errors
        return project.paths_read(), folders.listed(), folders.beginnings(), project.reached.noted, errors

    def close(self) -> None:
        """Leave nothing behind that is not finished."""
        if self._store.writer is not None:
            self._store.writer.discard()
