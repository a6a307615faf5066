"""Which settings hold for which file: what files and options say, merged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from jaxlint.config.layers import (
    ConfigError,
    FileLayer,
    InlineLayer,
    Layer,
    OptionsLayer,
    Origin,
    extra_field,
    file_in,
    plugins_of,
    python_version,
)
from jaxlint.config.settings import PerFileIgnore, Settings
from jaxlint.config.setup_files import SETUP_FILES
from jaxlint.config.table import ADDING, ADDING_TABLES, SELECTING, Key, all_keys
from jaxlint.config.versions import (
    ENVIRONMENT_FILES,
    PROJECT_FILE,
    REQUIREMENTS_FILE,
    Known,
    dependencies_in,
    dependency_files,
    installed,
    listed,
    normalised,
    required,
    required_by_poetry,
)
from jaxlint.finding import Confidence
from jaxlint.project.environment import beside, in_use
from jaxlint.project.files import Patterns
from jaxlint.pytrees.versions import VersionRange
from jaxlint.syntax.paths import ancestors

#: A configuration file, and the folders inside of its project that set bounds of their own.
_Key: TypeAlias = tuple["FileLayer | None", tuple[str, ...]]
#: How the files end that stand in the folder of a project.
_IN_FOLDER = (PROJECT_FILE, REQUIREMENTS_FILE, *SETUP_FILES, *ENVIRONMENT_FILES)


class Setting(msgspec.Struct, frozen=True):
    """The effective value of a key as it would stand in a file (None: nothing), and where it comes from."""

    key: str
    value: Any
    origins: tuple[Origin, ...]


class Configuration:
    """Which settings hold for which file: those of the nearest configuration file, changed by options.

    A `config` is a file to use for all paths instead, with its paths relative to the current directory, or a line
    of TOML such as `min-confidence = "high"`, which counts as an option. With `isolated` no file is read.
    `options` are values by key, as in a file; messages call them by their key behind `prefix`. Where no setting names
    an environment, `environment` says which versions the code runs with, else the activated one, else the `.venv` of
    the project. Raises `ConfigError` for what cannot be used.
    """

    def __init__(
        self,
        config: Sequence[str] = (),
        isolated: bool = False,
        options: Mapping[str, object] | None = None,
        environment: str | None = None,
        prefix: str = "--",
    ) -> None:
        here = os.getcwd()
        self._environment = environment
        files = [text for text in config if "=" not in text or os.path.exists(text)]
        if len(files) > 1:
            raise ConfigError(f"--config: {files[0]} and {files[1]} are two files; give one")
        self._options: list[Layer] = [InlineLayer(text, here) for text in config if text not in files]
        if options:
            self._options.append(OptionsLayer(options, here, prefix))
        self._reads_files = not isolated and not files
        self._given = FileLayer(files[0], here) if files else None
        self._files: dict[str, FileLayer | None] = {}
        self._settings: dict[_Key, Settings] = {}
        self._versions: dict[_Key, dict[str, Known]] = {}
        #: The folder of the project that each configuration file counts for, and the folders below that say more.
        self._projects: dict[FileLayer | None, str] = {}
        self._bounding: dict[str, tuple[str, ...]] = {}
        file = self._file(os.getcwd()) if self._options else None
        for layer in [self._given, *self._options]:
            if layer is not None:
                layer.plugins = plugins_of(file)
                layer.check()

    def given(self, key: str) -> object:
        """The value that an option gives a key, whatever files say; None if there is none."""
        return next((layer.values[key] for layer in self._options if key in layer.values), None)

    def use_no_baseline(self) -> None:
        """Leave out no findings because a baseline holds them."""
        self._options.append(OptionsLayer({"baseline": ""}, os.getcwd()))

    def settings(self, path: str) -> Settings:
        """The settings for the file or directory `path`. Raises `ConfigError`."""
        return self._settings_of(self._key(path))

    def _settings_of(self, key: _Key) -> Settings:
        if key not in self._settings:
            file, folders = key
            if file is not None:
                file.check()
            settings = self._with_environment(_settings(self._layers(file)), file)
            self._versions[key] = known = self._known_versions(file, settings, folders)
            ranges = {name: known[name].versions for name in sorted(known)}
            made = msgspec.structs.replace(settings, target_versions=ranges)
            whole = self._settings_of((file, ())) if folders else made
            # the same where an environment is known, or an entry counts
            self._settings[key] = whole if whole.target_versions == ranges else made
        return self._settings[key]

    def _with_environment(self, settings: Settings, file: FileLayer | None) -> Settings:
        """Settings that name the `.venv` of the project, unless they name another one or one is activated."""
        if in_use(settings.python or self._environment) is not None:
            return settings
        return msgspec.structs.replace(settings, python=beside(os.getcwd() if file is None else file.base))

    def versions(self, path: str) -> dict[str, Known]:
        """The versions that the code at `path` runs with, by distribution, and who says so."""
        self.settings(path)
        return self._versions[self._key(path)]

    def _known_versions(self, file: FileLayer | None, settings: Settings, folders: Iterable[str]) -> dict[str, Known]:
        """What is said of versions for the files of one configuration file: by it, by the environment, by the project.

        Where there is no configuration file, the project of the first path that is asked for counts.
        """
        python = in_use(settings.python or self._environment)
        known = {} if python is None else installed(python)
        needed = self._requirements(file)
        for folder in folders:
            needed |= self._bounds_in(folder)
        return {**needed, **known, **_targeted(_said(self._layers(file)))}

    def _requirements(self, file: FileLayer | None) -> dict[str, Known]:
        """What the project that a configuration file, or else a path, belongs to depends on.

        A distribution that is only bounded below is installed as new as it can be. Nobody installs Python so: where
        configuration counts, any that the project allows is meant.
        """
        found = _needed(dependency_files(self._projects[file]), file)
        return {
            name: one
            for name, one in found.items()
            if one.versions.below is not None or (name == "python" and self._reads_files)
        }

    def _bounds_in(self, folder: str) -> dict[str, Known]:
        """The upper bounds that a folder inside of a project sets for distributions."""
        found = _needed(dependencies_in(folder), None)
        return {name: one for name, one in found.items() if name != "python" and one.versions.below is not None}

    def _key(self, path: str) -> _Key:
        """What tells the settings for a path: the configuration file, and what folders of the project say of their own.

        A part of a repository may have requirements for itself.
        """
        file = self._file(path)
        if file not in self._projects:
            near = file.base if file is not None and file is not self._given else os.path.abspath(path)
            said = dependency_files(near)
            if said:
                self._projects[file] = os.path.dirname(said[0]) if said[0].endswith(_IN_FOLDER) else near
            else:
                self._projects[file] = os.path.abspath(os.sep)
        path = os.path.abspath(path)
        return file, self._folders(os.path.dirname(path) if path.endswith(".py") else path, self._projects[file])

    def _folders(self, directory: str, project: str) -> tuple[str, ...]:
        """The folders between that of the project (which is not one) and a directory that set bounds."""
        if directory == project or not directory.startswith(project.rstrip(os.sep) + os.sep):
            return ()
        if directory not in self._bounding:
            above = self._folders(os.path.dirname(directory), project)
            self._bounding[directory] = (*above, directory) if self._bounds_in(directory) else above
        return self._bounding[directory]

    def excludes(self, directory: str) -> Sequence[Patterns]:
        """What a walk leaves out below `directory`."""
        return self.settings(directory).exclude

    def groups(self, paths: Iterable[str]) -> list[tuple[Settings, list[str]]]:
        """`paths` by the settings that hold for them, in the order in which they come first."""
        found: dict[int, tuple[Settings, list[str]]] = {}
        for path in paths:
            settings = self.settings(path)
            found.setdefault(id(settings), (settings, []))[1].append(path)
        return list(found.values())

    def explain(self, path: str) -> list[Setting]:
        """The value of every key for `path`, and where it comes from."""
        python = self.settings(path).python
        said = _said(self._layers(self._file(path)))
        shown = [_setting(key, said.get(key.name, [])) for key in all_keys().values()]
        return [msgspec.structs.replace(one, value=python) if one.key == "python" else one for one in shown]

    def _layers(self, file: FileLayer | None) -> list[Layer]:
        return [*([] if file is None else [file]), *self._options]

    def _file(self, path: str) -> FileLayer | None:
        """The configuration file for `path`."""
        if not self._reads_files:
            return self._given
        path = os.path.abspath(path)
        return self._nearest(path if os.path.isdir(path) else os.path.dirname(path))

    def _nearest(self, directory: str) -> FileLayer | None:
        """The nearest configuration file at or above a directory."""
        passed = []
        found: FileLayer | None = None
        for above in ancestors(directory):
            if above in self._files:
                found = self._files[above]
                break
            passed.append(above)
            found = file_in(above)
            if found is not None:
                break
        self._files.update(dict.fromkeys(passed, found))
        return found


def read_config(path: str) -> Settings:
    """The settings in the file `path`, with paths relative to its directory. Raises `ConfigError`."""
    file = FileLayer(path)
    file.check()
    return _settings([file])


def _needed(names: Iterable[str], file: FileLayer | None) -> dict[str, Known]:
    """The requirements in the files that declare the dependencies of a project; `file` is read already."""
    found: dict[str, Known] = {}
    for name in names:
        if os.path.basename(name) != PROJECT_FILE:
            found = {**listed(name), **found}
            continue
        try:
            layer = file if file is not None and file.is_at(name) else FileLayer(name)
        except ConfigError:
            continue  # the project file of somebody else
        found = {**required(layer.project, name), **found}
        found = {**required_by_poetry(layer.poetry, name), **found}
    return found


_Said: TypeAlias = dict[str, list[tuple[Any, Layer]]]


def _said(layers: Iterable[Layer]) -> _Said:
    """The values of each key that count, with their layers, in the order of the layers.

    A layer that selects rules starts afresh: what earlier layers say of rules no longer counts.
    """
    said: _Said = {}
    for layer in layers:
        if "select" in layer.values:
            for key in SELECTING:
                said.pop(key, None)
        for key, value in layer.values.items():
            if key in ADDING or key in ADDING_TABLES:
                said.setdefault(key, []).append((value, layer))
            else:
                said[key] = [(value, layer)]
    return said


def _settings(layers: Iterable[Layer]) -> Settings:
    """The settings that the layers make, all of them checked."""
    said = _said(layers)

    def words(*keys: str) -> tuple[str, ...]:
        return tuple(word for key in keys for value, _ in said.get(key, ()) for word in value)

    def paths(key: str) -> tuple[str, ...]:
        return tuple(layer.path(path) for value, layer in said.get(key, ()) for path in _listed(value))

    def table(key: str) -> dict[str, Any]:
        return {name: like for value, _ in said.get(key, ()) for name, like in value.items()}

    def last(key: str) -> Any:
        return said[key][-1][0] if key in said else None

    return Settings(
        select=words("select") if "select" in said else None,
        ignore=words("ignore", "extend-ignore"),
        extend_select=words("extend-select"),
        per_file_ignores=tuple(
            PerFileIgnore(layer.base, pattern, tuple(selectors))
            for value, layer in said.get("per-file-ignores", ())
            for pattern, selectors in value.items()
        ),
        exclude=tuple(
            Patterns(layer.base, tuple(value))
            for key in ("exclude", "extend-exclude")
            for value, layer in said.get(key, ())
        ),
        src=paths("src"),
        python=next(iter(paths("python")), None),
        target_versions={name: one.versions for name, one in sorted(_targeted(said).items())},
        min_confidence=Confidence(last("min-confidence") or Confidence.MEDIUM),
        preview=bool(last("preview")),
        fix=bool(last("fix")),
        unsafe_fixes=bool(last("unsafe-fixes")),
        fixable=words("fixable") if "fixable" in said else ("ALL",),
        unfixable=words("unfixable"),
        extend_safe_fixes=words("extend-safe-fixes"),
        extend_unsafe_fixes=words("extend-unsafe-fixes"),
        baseline=next(iter(paths("baseline")), None) if last("baseline") else None,
        plugins=tuple(dict.fromkeys(words("plugins"))),
        extra_decorators=table("extra-decorators"),
        extra_bases=table("extra-bases"),
        extra_fields={name: extra_field(like) for name, like in table("extra-fields").items()},
    )


def _targeted(said: _Said) -> dict[str, Known]:
    """The versions that settings name."""
    found: dict[str, Known] = {}

    def add(name: str, versions: VersionRange | None, key: str, layer: Layer) -> None:
        if versions is not None:
            found[name] = Known(versions, str(layer.origin(key)))

    for table, layer in said.get("target-versions", ()):
        for name, bounds in table.items():
            add(normalised(name), VersionRange.read(bounds), "target-versions", layer)
    for text, layer in said.get("target-jax", ()):
        add("jax", VersionRange.read(text), "target-jax", layer)
    for text, layer in said.get("target-version", ()):
        add("python", VersionRange.exactly(python_version(text)), "target-version", layer)
    return found


def _setting(key: Key, said: list[tuple[Any, Layer]]) -> Setting:
    """The value of a key as it would stand in a file; paths are absolute there."""
    if not said:
        return Setting(key.name, key.default, (Origin("default"),))
    origins = tuple(layer.origin(key.name) for _, layer in said)
    value, layer = said[-1]
    if key.name in ("python", "baseline"):
        value = layer.path(value) if value else None
    elif key.name == "src":
        value = [layer.path(path) for path in value]
    elif key.name in ADDING:
        value = [word for words, _ in said for word in words]
    elif key.name in ADDING_TABLES:
        value = {name: like for table, _ in said for name, like in table.items()}
    return Setting(key.name, value, origins)


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
