import assert from "node:assert/strict";
import { test } from "node:test";
import { describe } from "../src/status";

test("a running server shows its version and where it is from", () => {
  const launch = { command: "python3", args: [], cwd: "/", env: {}, version: "0.1.0", origin: "python3 (the PATH)" };
  assert.deepEqual(describe({ kind: "running", launch }), {
    text: "jaxlint 0.1.0",
    detail: "python3 (the PATH)",
    busy: false,
    error: false,
  });
});

test("only a start is busy, only a failure is an error", () => {
  assert.equal(describe({ kind: "starting" }).busy, true);
  assert.deepEqual(describe({ kind: "failed", why: "no interpreter can run it" }), {
    text: "jaxlint does not run",
    detail: "no interpreter can run it",
    busy: false,
    error: true,
  });
  assert.deepEqual(describe({ kind: "off" }), { text: "jaxlint is off", detail: "jaxlint.enable", busy: false, error: false });
});
