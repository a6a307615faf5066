"""Programs from Debian, for tests of what we say about editors: downloaded and unpacked, not installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.external import run

CACHE = Path(__file__).resolve().parents[1] / ".envs" / "debian"


def unpacked(package: str, *, status: Path = Path("/var/lib/dpkg/status")) -> Path:
    """The folder that holds `package` and what it needs beyond the packages in `status`; needs no root.

    Raises `Unavailable` if Debian cannot be reached.
    """
    root = CACHE / package
    if root.exists():
        return root
    work = CACHE / f"{package}.{os.getpid()}"
    debs, new = work / "archives", work / "root"
    (debs / "partial").mkdir(parents=True)
    (work / "lists" / "partial").mkdir(parents=True)
    new.mkdir()
    apt = (
        "apt-get",
        "--quiet",
        "--option=Debug::NoLocking=1",
        f"--option=Dir::State::status={status}",
        f"--option=Dir::State::lists={work / 'lists'}",
        f"--option=Dir::Cache::archives={debs}",
        "--option=Dir::Cache::pkgcache=",
        "--option=Dir::Cache::srcpkgcache=",
        # as root, apt would hand the download to a user who may not write here
        "--option=APT::Sandbox::User=root",
    )
    try:
        run(*apt, "update", cwd=work)
        run(*apt, "install", "--download-only", "--reinstall", "--no-install-recommends", "--yes", package, cwd=work)
        for deb in sorted(debs.glob("*.deb")):
            run("dpkg", "-x", str(deb), str(new), cwd=work)
        try:
            new.rename(root)
        except OSError:
            if not root.exists():  # as it does when two processes have unpacked the same
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return root


def libraries(usr: Path) -> str:
    """The folders of shared libraries, as the loader takes them from the environment."""
    found = [*usr.glob("lib/*-linux-gnu"), *usr.glob("lib/*-linux-gnu/pulseaudio")]
    return ":".join(map(str, found))
