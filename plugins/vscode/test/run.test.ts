import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "../src/run";

const HERE = { cwd: process.cwd(), env: { GREETING: "hello" } };

function script(text: string) {
  return run(process.execPath, ["-e", text], HERE);
}

test("what a command prints, with the environment that is given on top", async () => {
  assert.deepEqual(await script("console.log(process.env.GREETING, 'PATH' in process.env)"), { output: "hello true\n" });
});

test("the last line of what a failing command says", async () => {
  assert.deepEqual(await script("console.error('Traceback\\n\\nImportError: no\\n'); process.exit(1)"), {
    failure: "ImportError: no",
  });
});

test("a command that does not exist", async () => {
  const result = await run("/no/such/python", [], HERE);
  assert.ok("failure" in result && result.failure.includes("ENOENT"), JSON.stringify(result));
});

test("a command that waits for its input gets the end of it", async () => {
  assert.deepEqual(await script("process.stdin.resume().on('end', () => console.log('end'))"), { output: "end\n" });
});
