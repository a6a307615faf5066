"""Schemas of formats, taken out of source distributions on PyPI: they are used here, and not ours to distribute.

They are stored under `.envs/`, and are those that were looked at: a digest says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxlint.cache.atomic import write_atomically

DOWNLOADED = Path(__file__).resolve().parents[1] / ".envs" / "schemas"

#: Stands for what would build the distributions: pip asks for their metadata before it keeps a file, and would install
#: setuptools or hatchling in an environment of its own to be told the name and the version that it was given.
_BUILDER = """
import os
def prepare_metadata_for_build_wheel(folder, settings=None):
    name, version = os.environ["KNOWN"].split("==")
    made = "{}-{}.dist-info".format(name.replace("-", "_"), version)
    os.mkdir(os.path.join(folder, made))
    with open(os.path.join(folder, made, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: {}\\nVersion: {}\\n".format(name, version))
    return made
"""
_BUILDERS = ("hatchling/build.py", "setuptools/build_meta.py")


@dataclass(frozen=True)
class Schema:
    """A file in a source distribution, with the SHA-256 of its content."""

    requirement: str
    path: str
    digest: str

    def content(self) -> bytes:
        """The bytes of the file, downloaded if need be."""
        stored = DOWNLOADED / f"{self.digest[:12]}-{Path(self.path).name}"
        if not stored.exists():
            content = _downloaded(self.requirement, self.path)
            assert hashlib.sha256(content).hexdigest() == self.digest, f"{self.path} of {self.requirement} is another"
            stored.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(str(stored), content)
        return stored.read_bytes()


#: The schema that OASIS has published, in JSON Schema draft 7.
SARIF = Schema(
    "sarif-pydantic==0.6.2",
    "sarif-schema-2.1.0.json",
    "6352a05f9d03f181b8d9c71a46bdacc4fcff9d8ade5364858b425ba0c0994ed7",
)
#: The schema of the xUnit plugin of Jenkins, which pytest tests its own output with.
JUNIT = Schema(
    "pytest==8.3.5",
    "testing/example_scripts/junit-10.xsd",
    "a1a816f58d1bf95ebabf371994df0b9246dee66ea9572fbec4f9296f1b2c0ff6",
)


def sarif() -> dict[str, Any]:
    """The schema of SARIF 2.1.0."""
    found = json.loads(SARIF.content())
    assert isinstance(found, dict)
    return found


def _downloaded(requirement: str, path: str) -> bytes:
    """The file `path` in the source distribution of a requirement."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        name = requirement.partition("==")[0]
        command += ["--no-binary", name, "--no-build-isolation", "--dest", folder, requirement]
        for builder in _BUILDERS:
            module = Path(folder, "builders", builder)
            module.parent.mkdir(parents=True)
            module.with_name("__init__.py").touch()
            module.write_text(_BUILDER)
        environment = {**os.environ, "PYTHONPATH": str(Path(folder, "builders")), "KNOWN": requirement}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stderr[-4000:]}"
        (archive,) = Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            root = tar.getnames()[0].partition("/")[0]
            member = tar.extractfile(f"{root}/{path}")
            assert member is not None
            return member.read()
