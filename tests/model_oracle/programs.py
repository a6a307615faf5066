"""Strategies for the source text of generated class declarations."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.model_oracle.spellings import ALIASES, FIELD_CALLS, HEADER, Spelling

#: Not in alphabetical order, so that the order of leaves tells.
_NAMES = ("w", "theta", "b", "kernel", "alpha", "n")
_DEFAULTS = ("1.0", "2", "None", "'text'", "np.float32(0)", "()", "0.0 + 1.0", "jnp.float32", "(1, [2])")
_FACTORIES = ("lambda: 1.0", "float", "lambda: jnp.zeros(2)", "list")
_REGISTER = "jax.tree_util.register_dataclass"
_REFUSED = (
    "[]",
    "jnp.zeros(3)",
    "np.ones(2)",
    "{}",
    "set()",
    "jax.random.key(0)",
    "[1.0] * 2",
    "bytearray()",
    "Record()",
)
_HOOK = ["    def __post_init__(self, *_values):", "        NOTED.append('post')"]


@dataclass(frozen=True)
class Declared:
    """A class of a program and the lines it takes up, with its decorators and the call that registers it."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class Program:
    """One generated module."""

    text: str
    classes: tuple[Declared, ...]

    @property
    def classes_text(self) -> str:
        """The classes alone, without the header."""
        return "\n".join(self.text.splitlines()[self.classes[0].first - 1 :])


@dataclass
class Draft:
    """A class as it is drawn: its lines, and the names that are probably its fields."""

    name: str
    lines: list[str]
    names: list[str] = field(default_factory=list)
    #: The fields that nothing but `__post_init__` sets.
    unset: list[str] = field(default_factory=list)
    is_hooked: bool = False


def _chance(draw: st.DrawFn, percent: int) -> bool:
    """True in about `percent` of all draws; shrinks to False."""
    return draw(st.integers(0, 99)) >= 100 - percent


@st.composite
def programs(draw: st.DrawFn, spelling: Spelling) -> Program:
    """A module with one to three classes in the given spelling."""
    future = "from __future__ import annotations\n" if _chance(draw, 15) else ""
    text = future + HEADER + spelling.preamble
    drafts: list[Draft] = []
    declared: list[Declared] = []
    for name in "ABC"[: draw(st.integers(1, 3))]:
        draft = _class(draw, spelling, name, drafts)
        first = text.count("\n") + 1
        text += "\n".join(draft.lines) + "\n"
        declared.append(Declared(name, first, text.count("\n")))
        drafts.append(draft)
    return Program(text, tuple(declared))


def _class(draw: st.DrawFn, spelling: Spelling, name: str, earlier: list[Draft]) -> Draft:
    parent = draw(st.sampled_from(earlier)) if earlier and _chance(draw, 80) else None
    bare = parent is not None and _chance(draw, 25)
    draft = Draft(name, [])
    if parent is not None:
        draft = Draft(name, [], list(parent.names), list(parent.unset), parent.is_hooked)
    fields = _fields(draw, spelling, draft, [d.name for d in earlier], short=bare and _chance(draw, 50))
    options = [] if bare else list({o.partition("=")[0]: o for o in spelling.options if _chance(draw, 12)}.values())
    decorators = [] if bare and spelling.decorators else spelling.decorated(options)
    lists = _lists(draw, draft.names, spelling.style) if spelling.style in ("lists", "call") else ""
    base = _bases(draw, spelling, parent)
    for name_, alias in ALIASES.items():
        if _chance(draw, 10):
            decorators = [d.replace(name_, alias) for d in decorators]
            base = base.replace(name_, alias)
    body = fields + _members(draw, spelling, draft)
    target = draw(st.sampled_from(["", f"{name} = "]))
    draft.lines = [
        *(d.replace("{lists}", lists) for d in decorators),
        f"class {name}{base}:",
        *(body or ["    pass"]),
        *([f"{target}{_REGISTER}({name}{lists})"] if spelling.style == "call" and not bare else []),
        "",
    ]
    return draft


def _bases(draw: st.DrawFn, spelling: Spelling, parent: Draft | None) -> str:
    bases = [parent.name] if parent is not None else [spelling.base] if spelling.base else []
    if spelling.style != "namedtuple" and _chance(draw, 14):
        mixin = draw(st.sampled_from(["Mixin", "Generic[T]", "Record", "FrozenRecord", "NotedMixin"]))
        bases.insert(len(bases) if mixin == "Generic[T]" or _chance(draw, 40) else 0, mixin)
    keywords = [k for k in spelling.class_keywords if _chance(draw, 15)]
    bases += dict.fromkeys(keywords)
    return f"({', '.join(bases)})" if bases else ""


# -- fields -----------------------------------------------------------------------------------


def _fields(draw: st.DrawFn, spelling: Spelling, draft: Draft, classes: list[str], short: bool) -> list[str]:
    lines: list[str] = []
    defaulted = False
    for name in draw(st.lists(st.sampled_from(_NAMES), min_size=0, max_size=1 if short else 4, unique=True)):
        if spelling.style != "namedtuple" and _chance(draw, 4):
            lines.append("    _: KW_ONLY")
            defaulted = False
        line, has_default = _field(draw, spelling, name, classes, defaulted)
        if "init=False" in line and "default" not in line:
            draft.unset.append(name)
        defaulted = defaulted or has_default
        lines.append(line)
        if name not in draft.names:
            draft.names.append(name)
    return lines


def _field(draw: st.DrawFn, spelling: Spelling, name: str, classes: list[str], defaulted: bool) -> tuple[str, bool]:
    """One annotated line, and whether it gives a default."""
    annotation = _annotation(draw, spelling, classes)
    wants_default = _chance(draw, 90 if defaulted else 25)
    start = f"    {name}: {annotation}"
    if spelling.style == "namedtuple":
        return (f"{start} = {_default(draw)}", True) if wants_default else (start, False)
    kind = draw(st.sampled_from(["plain", "plain", "plain", "own", "own", "foreign", "pseudo"]))
    if kind == "pseudo":
        return _pseudo(draw, name, wants_default)
    if kind == "plain":
        return (f"{start} = {_default(draw)}", True) if wants_default else (start, False)
    call = draw(st.sampled_from(spelling.own_calls if kind == "own" else FIELD_CALLS))
    arguments = _arguments(draw, spelling, call, wants_default)
    text = call + (", " if arguments and not call.endswith("(") else "") + ", ".join(arguments) + ")"
    return f"{start} = {text}", any(a.startswith("default") for a in arguments)


def _arguments(draw: st.DrawFn, spelling: Spelling, call: str, wants_default: bool) -> list[str]:
    arguments: list[str] = []
    hidden = _chance(draw, 6) and not call.startswith("jax_static")
    hidden = hidden and (call.startswith("nnx") or not spelling.by_value)
    if hidden and _chance(draw, 30):
        return ["init=False"]  # `__post_init__` may assign it
    if wants_default or hidden:
        factory = _chance(draw, 40) and not call.startswith("jax_static")
        default = f"default_factory={draw(st.sampled_from(_FACTORIES))}" if factory else f"default={_default(draw)}"
        arguments.append(default)
    if not call.startswith(("jax_static", "sp.")) and _chance(draw, 8):
        arguments.append("kw_only=True")
    if hidden:
        arguments.append("init=False")
    return arguments


def _annotation(draw: st.DrawFn, spelling: Spelling, classes: list[str]) -> str:
    pool = [*spelling.annotations, *classes]
    if spelling.own_annotations and _chance(draw, 35):
        pool = list(spelling.own_annotations)
    text = draw(st.sampled_from(pool))
    return repr(text) if "'" not in text and _chance(draw, 8) else text


def _default(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(_REFUSED if _chance(draw, 8) else _DEFAULTS))


def _pseudo(draw: st.DrawFn, name: str, wants_default: bool) -> tuple[str, bool]:
    """A line that looks like a field and is none, or only in part."""
    lines = [f"{name}: ClassVar[int] = 3", f"{name} = 7", f"{name}: Final[int] = 3"]
    if wants_default:
        lines += [f"{name}: InitVar[int] = 4", f"{name}: 'InitVar[float]' = 4.0", f"{name}: ClassVar = 3"]
    else:
        lines += [f"{name}: InitVar[int]", f"{name}: ClassVar[int]"]
    line = draw(st.sampled_from(lines))
    return "    " + line, ("InitVar" in line and wants_default) or "Final" in line


# -- methods ----------------------------------------------------------------------------------


def _members(draw: st.DrawFn, spelling: Spelling, draft: Draft) -> list[str]:
    lines: list[str] = []
    if spelling.style == "namedtuple":
        return ["    def total(self):", "        return 1.0"] if _chance(draw, 20) else []
    if _chance(draw, 10):
        lines += ["    scale = 3.0", "    def norm(self):", "        return self.scale"]
    if _chance(draw, 4):
        lines += ["    def replace(self, **changes):", "        return 'mine'"]
    if _chance(draw, 2):
        lines += ["    def __setattr__(self, name, value):", "        object.__setattr__(self, name, value)"]
    if _chance(draw, 3):
        lines += ["    def __eq__(self, other):", "        return False"]
    if _chance(draw, 3):
        lines += ["    def __hash__(self):", "        return 1"]
    if draft.is_hooked or _chance(draw, 50 if draft.unset else 12):
        draft.is_hooked = True
        lines += _HOOK
        may_assign = spelling.assigns and not spelling.by_value
        extra = [draw(st.sampled_from(draft.names))] if may_assign and draft.names and _chance(draw, 20) else []
        for name in dict.fromkeys(draft.unset + extra):
            lines.append(_assignment(spelling, name, "5.0"))
    if spelling.custom_init and draft.names and _chance(draw, 40 if spelling.id.endswith("plain") else 8):
        lines += _init(draw, spelling, draft)
    return lines


def _init(draw: st.DrawFn, spelling: Spelling, draft: Draft) -> list[str]:
    """An `__init__` that sets most attributes, from parameters that are or are not called like the fields."""
    suffix = draw(st.sampled_from(["", "_in"]))
    names = [n for n in draft.names if not _chance(draw, 8)] or draft.names
    star = draw(st.sampled_from(["", "", "*, "]))
    default = draw(st.sampled_from(["", " = 1.0"]))
    parameters = ", ".join(f"{n}{suffix}{default}" for n in names)
    lines = [f"    def __init__(self, {star}{parameters}):", "        NOTED.append('init')"]
    lines += [_assignment(spelling, name, name + suffix) for name in names]
    return lines


def _assignment(spelling: Spelling, name: str, value: str) -> str:
    if spelling.assigns:
        return f"        self.{name} = {value}"
    return f"        object.__setattr__(self, '{name}', {value})"


# -- lists of fields --------------------------------------------------------------------------


def _lists(draw: st.DrawFn, names: list[str], style: str) -> str:
    """The arguments of `register_dataclass` after the class: nothing, or lists that mostly fit."""
    if _chance(draw, 25):
        return ""
    order = draw(st.permutations(names))
    cut = draw(st.integers(0, len(order)))
    data, meta = list(order[:cut]), list(order[cut:])
    extra = ""
    if order and _chance(draw, 15):
        dropped = (data or meta).pop()
        extra = draw(st.sampled_from(["", f", drop_fields=['{dropped}']"]))
    if _chance(draw, 5):
        data.append("unheard_of")
    if order and _chance(draw, 5):
        meta.append(order[0])
    if style == "call" and not extra and _chance(draw, 15):
        return f", {data!r}, {meta!r}"
    parts = [f", data_fields={data!r}", f", meta_fields={tuple(meta) if _chance(draw, 20) else meta!r}"]
    if _chance(draw, 5):
        parts.pop()
    return "".join(parts) + extra
