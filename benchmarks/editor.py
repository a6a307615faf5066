"""How long an editor waits: from the last key to its diagnostics, through the protocol.

    python benchmarks/editor.py [--keys 40] [--lines 500 2000 5000]

A server process is given files that are made of pytree classes and functions that update and transform them, denser
than code people write. Words are typed into the body of a function in the middle of the file, and into the
declaration of a class, a key every 30 ms; what is measured is the time between sending the last key of a word and
receiving the first diagnostics of that version (what can be said at once, where a check takes longer). Client and
server share the machine with whatever else runs there; on Linux the processor time that the server takes in between
is shown as well, which depends less on that.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.lsp.client import Client

PART = '''
@struct.dataclass
class State{i}:
    """What is trained, number {i}."""

    params: dict[str, jax.Array]
    momentum: jax.Array
    step: int = struct.field(pytree_node=False, default=0)
    name: str = struct.field(pytree_node=False, default="x")

    @property
    def size(self) -> int:
        return sum(x.size for x in jax.tree.leaves(self.params))

    def advance(self, gradients: dict[str, jax.Array]) -> "State{i}":
        """One step."""
        momentum = self.momentum * 0.9
        params = jax.tree.map(lambda p, g: p - 0.1 * g, self.params, gradients)
        return self.replace(params=params, momentum=momentum)


def loss_{i}(params: dict[str, jax.Array], batch: jax.Array) -> jax.Array:
    hidden = batch @ params["w1"] + params["b1"]
    hidden = jax.nn.relu(hidden)
    out = hidden @ params["w2"] + params["b2"]
    return jnp.mean(out**2)


@jax.jit
def train_{i}(state: State{i}, batch: jax.Array) -> State{i}:
    value, gradients = jax.value_and_grad(loss_{i})(state.params, batch)
    state = state.advance(gradients)
    if batch.ndim > 2:
        state = state.replace(momentum=jnp.zeros_like(state.momentum))
    return state


def run_{i}(state: State{i}, batches: list[jax.Array]) -> State{i}:
    history = []
    for index, batch in enumerate(batches):
        state = train_{i}(state, batch)
        history.append(float(loss_{i}(state.params, batch)))
        if index % 10 == 0:
            print("loss", history[-1])
    return state

'''
HEADER = "import jax\nimport jax.numpy as jnp\nfrom flax import struct\n"
WORDS = ("    state.step = 1", "    other = state.replace(step=index)", "    print(state.momentum)")
FIELDS = ("    extra: int = 0", "    more: jax.Array = None")


def program(lines: int) -> str:
    """A program of about so many lines."""
    parts = [PART.format(i=i) for i in range(max(round((lines - 3) / PART.count("\n")), 1))]
    return HEADER + "".join(parts)


def processor_seconds(pid: int) -> float:
    """The processor time that the threads of a process have taken; 0 where the system does not tell."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


def typed(client: Client, uri: str, row: int, words: tuple[str, ...], keys: int) -> Iterator[tuple[float, float]]:
    """Seconds from the last key of a word to the diagnostics, on the clock and of the server's processor time.

    The words are typed in a new row, and taken out again.
    """
    at = {"line": row, "character": 0}
    for number in range(keys):
        word = words[number % len(words)]
        client.change(uri, {"range": {"start": at, "end": at}, "text": "\n"})
        for column, key in enumerate(word):
            time.sleep(0.03)
            here = {"line": row, "character": column}
            taken = processor_seconds(client.process.pid)
            started = time.perf_counter()
            client.change(uri, {"range": {"start": here, "end": here}, "text": key})
        client.diagnostics(uri)
        yield time.perf_counter() - started, processor_seconds(client.process.pid) - taken
        time.sleep(0.3)
        client.change(uri, {"range": {"start": at, "end": {"line": row + 1, "character": 0}}, "text": ""})
        client.diagnostics(uri)


Seconds = list[tuple[float, float]]


def measure(lines: int, keys: int) -> tuple[Seconds, Seconds]:
    """Seconds for keys in the body of a function, and in the declaration of a class."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = program(lines)
        (folder / "program.py").write_text(text)
        client = Client(folder)
        try:
            client.initialize(folder)
            uri = (folder / "program.py").as_uri()
            client.open(uri, text)
            client.diagnostics(uri)
            middle = text.count("\n", 0, text.index("history = []", len(text) // 2))
            body = list(typed(client, uri, middle + 1, WORDS, keys))
            middle = text.count("\n", 0, text.index("    step: int", len(text) // 2))
            declared = list(typed(client, uri, middle + 2, FIELDS, max(keys // 4, 4)))
            assert client.stop() == 0
            return body, declared
        finally:
            client.end()


def shown(seconds: Seconds) -> str:
    """Median and 95th percentile."""
    clock, processor = zip(*seconds, strict=True)
    texts = []
    for name, values in (("clock", clock), ("processor", processor)):
        p95 = statistics.quantiles(values, n=20, method="inclusive")[-1]
        texts.append(f"{name}: p50 {statistics.median(values) * 1000:5.0f} ms, p95 {p95 * 1000:5.0f} ms")
    return f"{';  '.join(texts)}  ({len(seconds)} keys)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=40, help="how many words are typed (default: 40)")
    parser.add_argument("--lines", type=int, nargs="+", default=[500, 2000, 5000], help="how long the files are")
    options = parser.parse_args()
    for lines in options.lines:
        body, declared = measure(lines, options.keys)
        print(f"{program(lines).count(chr(10)):5} lines, in a function: {shown(body)}")
        print(f"{program(lines).count(chr(10)):5} lines, in a class:    {shown(declared)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
