/** Runs a command to its end. */

import { execFile } from "node:child_process";
import type { Run } from "./launch";

/** A first import after an installation compiles every module. */
const TIMEOUT = 30_000;

/** The line that says what went wrong: of a traceback, the last. */
function reason(error: Error, stderr: string): string {
  return stderr.trim().split("\n").at(-1) || error.message;
}

export const run: Run = (command, args, options) =>
  new Promise((resolve) => {
    const child = execFile(
      command,
      args,
      { cwd: options.cwd, env: { ...process.env, ...options.env }, timeout: TIMEOUT },
      (error, stdout, stderr) => {
        if (error === null) {
          resolve({ output: stdout });
        } else {
          resolve({ failure: error.killed === true ? `no answer in ${TIMEOUT / 1000} s` : reason(error, stderr) });
        }
      },
    );
    child.stdin?.end();
  });
