import assert from "node:assert/strict";
import { test } from "node:test";
import { findCandidates } from "../src/interpreters";

function machine(platform: NodeJS.Platform, ...files: string[]) {
  return { platform, isFile: (path: string) => files.includes(path) };
}

function paths(...found: Parameters<typeof findCandidates>): string[] {
  return findCandidates(...found).map(({ interpreter }) => interpreter);
}

test("the interpreter of the settings is the only one", () => {
  const found = paths("/opt/python", "/conda/bin/python", ["/w"], machine("linux", "/w/.venv/bin/python"));
  assert.deepEqual(found, ["/opt/python"]);
});

test("the one that the Python extension has selected comes first, the one on the PATH last", () => {
  const found = findCandidates("", "/conda/bin/python", ["/w"], machine("linux", "/w/.venv/bin/python"));
  assert.deepEqual(found, [
    { interpreter: "/conda/bin/python", origin: "the Python extension" },
    { interpreter: "/w/.venv/bin/python", origin: ".venv of the workspace" },
    { interpreter: "python3", origin: "the PATH" },
  ]);
});

test(".venv comes before venv, and the first folder before the second", () => {
  const files = ["/a/venv/bin/python", "/b/.venv/bin/python", "/b/venv/bin/python"];
  assert.deepEqual(paths("", undefined, ["/a", "/b"], machine("darwin", ...files)), [...files, "python3"]);
});

test("an interpreter is tried once", () => {
  const found = paths("", "/w/.venv/bin/python", ["/w"], machine("linux", "/w/.venv/bin/python"));
  assert.deepEqual(found, ["/w/.venv/bin/python", "python3"]);
});

test("Windows has its own names", () => {
  const python = "C:\\w\\.venv\\Scripts\\python.exe";
  assert.deepEqual(paths("", undefined, ["C:\\w"], machine("win32", python)), [python, "python"]);
});

test("without a folder only the PATH is left", () => {
  assert.deepEqual(paths("", undefined, [], machine("linux")), ["python3"]);
});
