"""VS Code in a browser: opens a project in code-server with an extension, and says and pictures what is seen.

    python -m tools.web_vscode plugins/vscode/jaxlint-linux-x64-0.1.0.vsix PROJECT FILE PICTURE.png

code-server and playwright come from npm, and are stored in `.envs/`; its native modules are built here. A `chromium` is
looked for on the PATH, and `CHROMIUM` names another.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.external import run

ROOT = Path(__file__).resolve().parents[1]
DRIVER = Path(__file__).with_suffix(".mjs")
#: The last code-server whose VS Code runs on Node.js 20.
PACKAGES = ("code-server@4.96.4", "playwright-core@1.65.1")
HOME = ROOT / ".envs" / "web-vscode"
#: The native modules without which VS Code does not start. Kerberos and ripgrep are left out: nothing here uses them.
NATIVE = ("@vscode/spdlog", "node-pty", "@parcel/watcher", "native-watchdog", "@vscode/deviceid")
#: What VS Code's lock file takes from GitHub; npm has it too.
FROM_GITHUB = "node_modules/@vscode/proxy-agent"
SETTINGS = {
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
}


def _npm(*arguments: str, cwd: Path) -> None:
    run("npm", *arguments, "--no-audit", "--no-fund", cwd=cwd)


def install() -> Path:
    """The folder with code-server and playwright, installed if it is not there. Raises `Unavailable`."""
    ready = HOME / "ready.json"
    if ready.exists() and json.loads(ready.read_text()) == list(PACKAGES):
        return HOME
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    # the scripts of the packages would download from GitHub
    _npm("install", "--ignore-scripts", "--prefix", str(HOME), *PACKAGES, cwd=HOME)
    vscode = HOME / "node_modules" / "code-server" / "lib" / "vscode"
    lock_file = vscode / "npm-shrinkwrap.json"
    lock = json.loads(lock_file.read_text())
    for key in ("resolved", "integrity"):
        del lock["packages"][FROM_GITHUB][key]
    lock_file.write_text(json.dumps(lock))
    _npm("install", "--ignore-scripts", "--omit=dev", cwd=vscode)
    _npm("rebuild", *NATIVE, cwd=vscode)
    _npm("install", "--ignore-scripts", "--omit=dev", cwd=vscode / "extensions")
    _npm("rebuild", "argon2", cwd=HOME)
    ready.write_text(json.dumps(PACKAGES))
    return HOME


@contextmanager
def served(vsix: Path, data: Path) -> Iterator[str]:
    """code-server with one extension; yields its address."""
    start = ["node", str(install() / "node_modules" / "code-server" / "out" / "node" / "entry.js")]
    # `HOME` is where code-server looks for the settings of the user who runs it
    env = {**os.environ, "HOME": str(data)}
    folders = ["--user-data-dir", str(data), "--extensions-dir", str(data / "extensions")]
    (data / "User").mkdir(parents=True)
    (data / "User" / "settings.json").write_text(json.dumps(SETTINGS))
    subprocess.run([*start, *folders, "--install-extension", str(vsix)], env=env, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--auth=none", "--disable-telemetry", "--disable-update-check", f"--bind-addr=127.0.0.1:{port}"]
    with (data / "server.log").open("wb") as log:
        server = subprocess.Popen([*start, *folders, *options], env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}/"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def _wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("code-server does not answer")


def look(
    vsix: Path, project: Path, file: str, picture: Path, chromium: str, browser_env: Mapping[str, str]
) -> dict[str, Any]:
    """Open a file of a project: what is seen, as `web_vscode.mjs` names it, and what the extension logged."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        with served(vsix, data) as address:
            asked = {
                "playwright": str(HOME / "package.json"),
                "chromium": chromium,
                "env": {**os.environ, **browser_env},
                "address": f"{address}?folder={project}",
                "file": file,
                "picture": str(picture),
            }
            command = ("node", str(DRIVER), json.dumps(asked))
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        logs = [path.read_text(encoding="utf-8") for path in data.glob("logs/**/jaxlint.log")]
        if done.returncode != 0:
            raise RuntimeError("\n".join([done.stdout, done.stderr, *logs]))
        return {**json.loads(done.stdout), "log": "\n".join(logs)}


def main() -> None:
    """Look, and print what is seen."""
    vsix, project, file, picture = sys.argv[1:]
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or "chromium"
    seen = look(Path(vsix).resolve(), Path(project).resolve(), file, Path(picture).resolve(), chromium, {})
    print(json.dumps(seen, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
