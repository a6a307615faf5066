import assert from "node:assert/strict";
import { test } from "node:test";
import { findLaunch, type Run } from "../src/launch";
import type { Settings } from "../src/settings";

const SETTINGS: Settings = {
  enable: true,
  path: [],
  interpreter: "",
  importStrategy: "fromEnvironment",
  args: ["--verbose"],
  server: { inlayHints: true, codeLens: true, workspaceDiagnostics: false, configuration: null, settings: {} },
};
const PLACES = { bundle: "/extension/bundled/libs", neutral: "/extension", workspace: "/w" };
const CANDIDATES = [
  { interpreter: "/w/.venv/bin/python", origin: ".venv of the workspace" },
  { interpreter: "python3", origin: "the PATH" },
];

/** Finds a launch on a machine where only the named interpreters, `with bundle` or not, can run the server. */
async function find(works: string[], settings: Partial<Settings> = {}) {
  const tried: string[] = [];
  const lines: string[] = [];
  const run: Run = (command, args, { cwd, env }) => {
    const name = [command, ...(args[0] === "-c" ? [] : args), ...("PYTHONPATH" in env ? ["with bundle"] : [])].join(" ");
    tried.push(`${name} in ${cwd}`);
    return Promise.resolve(works.includes(name) ? { output: "0.1.0\r\n/prefix\r\n" } : { failure: "No module named 'jaxlint'" });
  };
  const launch = await findLaunch({ ...SETTINGS, ...settings }, CANDIDATES, PLACES, run, (line) => lines.push(line));
  return { launch, tried, lines };
}

test("the first interpreter with a jaxlint runs the server", async () => {
  const { launch, lines } = await find(["/w/.venv/bin/python", "python3"]);
  assert.deepEqual(launch, {
    command: "/w/.venv/bin/python",
    args: ["-m", "jaxlint", "server", "--verbose"],
    cwd: "/extension",
    env: { PYTHONUTF8: "1", VIRTUAL_ENV: "/prefix" },
    version: "0.1.0",
    origin: "/w/.venv/bin/python (.venv of the workspace) with its own jaxlint",
  });
  assert.deepEqual(lines, []);
});

test("the interpreter of the project with the bundle comes before another with its own jaxlint", async () => {
  const { launch, tried, lines } = await find(["/w/.venv/bin/python with bundle", "python3"]);
  assert.equal(launch?.command, "/w/.venv/bin/python");
  assert.equal(launch.env.PYTHONPATH, "/extension/bundled/libs");
  assert.deepEqual(tried, ["/w/.venv/bin/python in /extension", "/w/.venv/bin/python with bundle in /extension"]);
  assert.deepEqual(lines, [
    "/w/.venv/bin/python (.venv of the workspace) with its own jaxlint: No module named 'jaxlint'",
  ]);
});

test("the next interpreter is tried when the first runs neither", async () => {
  const { launch } = await find(["python3 with bundle"]);
  assert.equal(launch?.origin, "python3 (the PATH) with the bundled jaxlint");
});

test("useBundled passes by what is installed", async () => {
  const { launch, tried } = await find(["/w/.venv/bin/python", "python3 with bundle"], { importStrategy: "useBundled" });
  assert.equal(launch?.origin, "python3 (the PATH) with the bundled jaxlint");
  assert.deepEqual(tried, ["/w/.venv/bin/python with bundle in /extension", "python3 with bundle in /extension"]);
});

test("nothing runs: every refusal is logged", async () => {
  const { launch, lines } = await find([]);
  assert.equal(launch, undefined);
  assert.equal(lines.length, 4);
});

test("a command of the settings is used as it is, in the workspace", async () => {
  const { launch, tried } = await find(["uv run jaxlint --version"], { path: ["uv", "run", "jaxlint"] });
  assert.deepEqual([launch?.command, launch?.args, launch?.cwd], ["uv", ["run", "jaxlint", "server", "--verbose"], "/w"]);
  assert.deepEqual(tried, ["uv run jaxlint --version in /w"]);
});

test("a command of the settings that fails is not replaced by another", async () => {
  const { launch, lines } = await find(["python3"], { path: ["uv", "run", "jaxlint"] });
  assert.equal(launch, undefined);
  assert.deepEqual(lines, ["jaxlint.path: uv run jaxlint: No module named 'jaxlint'"]);
});
