import assert from "node:assert/strict";
import { test } from "node:test";
import manifest from "../package.json";
import { expand, type Key, NEEDS_RESTART, readSettings, type Settings } from "../src/settings";

const variables = { workspaceFolder: "/w", home: "/home/ada", env: { TOOLS: "/opt/t$&" } };

function read(values: Partial<Record<Key, unknown>>): Settings {
  return readSettings((key) => values[key], variables);
}

test("variables are replaced", () => {
  assert.equal(expand("${workspaceFolder}/.venv/bin/python", variables), "/w/.venv/bin/python");
  assert.equal(expand("~/bin/python", variables), "/home/ada/bin/python");
  assert.equal(expand("~", variables), "/home/ada");
  assert.equal(expand("${env:TOOLS}/python", variables), "/opt/t$&/python");
  assert.equal(expand("${env:MISSING}/python", variables), "/python");
});

test("what only looks like a variable stays", () => {
  for (const text of ["~ada/python", "/a/~/b", "${workspace}", "$TOOLS"]) {
    assert.equal(expand(text, variables), text);
  }
});

test("nothing set gives the defaults of the manifest", () => {
  const properties = manifest.contributes.configuration.properties;
  const { server, ...own } = read({});
  assert.deepEqual(
    Object.entries<unknown>({ ...own, ...server }).map(([key, value]) => [`jaxlint.${key}`, value]),
    Object.entries(properties)
      .filter(([name]) => name !== "jaxlint.trace.server")
      .map(([name, property]): [string, unknown] => [name, property.default as unknown]),
  );
});

test("values of the wrong type count as not set", () => {
  assert.deepEqual(
    read({ path: "jaxlint", interpreter: 3, importStrategy: "no", args: null, enable: "no", inlayHints: 1 }),
    read({}),
  );
  for (const settings of [null, [], "select", 3]) {
    assert.deepEqual(read({ settings, configuration: settings === "select" ? "" : settings }), read({}));
  }
  assert.deepEqual(read({ args: ["--verbose", 3, " "] }).args, ["--verbose"]);
});

test("values are taken over", () => {
  const own: Omit<Settings, "server"> = {
    enable: false,
    path: ["uv", "run", "jaxlint"],
    interpreter: "/usr/bin/python3",
    importStrategy: "useBundled",
    args: ["--verbose"],
  };
  const server: Settings["server"] = {
    inlayHints: false,
    codeLens: false,
    workspaceDiagnostics: true,
    configuration: "/w/jaxlint.toml",
    settings: { select: ["ALL"] },
  };
  assert.deepEqual(read({ ...own, ...server }), { ...own, server });
  assert.equal(read({ configuration: "${workspaceFolder}/a.toml" }).server.configuration, "/w/a.toml");
});

test("the settings that need a restart are settings", () => {
  const names = Object.keys(manifest.contributes.configuration.properties);
  for (const key of NEEDS_RESTART) {
    assert.ok(names.includes(`jaxlint.${key}`), key);
  }
});
