/** How the server is started: which interpreter can run it, and with which jaxlint. */

import type { Candidate } from "./interpreters";
import type { Settings } from "./settings";

export interface Launch {
  command: string;
  args: string[];
  cwd: string;
  /** Set in the environment of the server, on top of this process's. */
  env: Record<string, string>;
  version: string;
  /** For people: which jaxlint this is. */
  origin: string;
}

export interface Places {
  /** Where the jaxlint that is packaged with the extension lies. */
  bundle: string;
  /** A folder without Python modules: `python -m` imports from the working directory first. */
  neutral: string;
  workspace: string;
}

/** Runs a command to its end: what it printed, or why it failed. */
export type Run = (
  command: string,
  args: string[],
  options: { cwd: string; env: Record<string, string> },
) => Promise<{ output: string } | { failure: string }>;

/** Imports what the server imports: an interpreter may have a jaxlint without the extra `lsp`, or a bundle of another version. */
const PROBE = "import sys, jaxlint, jaxlint_lsp; print(jaxlint.__version__, sys.prefix, sep='\\n')";

/** What the server writes to its log is UTF-8, whatever the locale. */
const ENVIRONMENT = { PYTHONUTF8: "1" };

async function fromPath(settings: Settings, places: Places, run: Run, log: (line: string) => void) {
  const [command, ...first] = settings.path;
  if (command === undefined) {
    return undefined;
  }
  const started = await run(command, [...first, "--version"], { cwd: places.workspace, env: {} });
  if ("failure" in started) {
    log(`jaxlint.path: ${settings.path.join(" ")}: ${started.failure}`);
    return undefined;
  }
  return {
    command,
    args: [...first, "server", ...settings.args],
    cwd: places.workspace,
    env: ENVIRONMENT,
    version: started.output.trim().split(/\s+/).at(-1) ?? "",
    origin: "jaxlint.path",
  };
}

/**
 * The first interpreter that can run the server: with the jaxlint of its environment, else with the bundled one.
 * Every refusal is logged.
 */
export async function findLaunch(
  settings: Settings,
  candidates: Candidate[],
  places: Places,
  run: Run,
  log: (line: string) => void,
): Promise<Launch | undefined> {
  if (settings.path.length > 0) {
    return fromPath(settings, places, run, log);
  }
  const sources = [
    { name: "its own jaxlint", env: {} },
    { name: "the bundled jaxlint", env: { PYTHONPATH: places.bundle } },
  ].slice(settings.importStrategy === "useBundled" ? 1 : 0);
  for (const { interpreter, origin } of candidates) {
    for (const source of sources) {
      const probed = await run(interpreter, ["-c", PROBE], { cwd: places.neutral, env: source.env });
      if ("output" in probed) {
        const [version = "", prefix = ""] = probed.output.trim().split(/\r?\n/);
        return {
          command: interpreter,
          args: ["-m", "jaxlint", "server", ...settings.args],
          cwd: places.neutral,
          // classes of installed packages are read from the activated environment
          env: { ...ENVIRONMENT, ...source.env, VIRTUAL_ENV: prefix },
          version,
          origin: `${interpreter} (${origin}) with ${source.name}`,
        };
      }
      log(`${interpreter} (${origin}) with ${source.name}: ${probed.failure}`);
    }
  }
  return undefined;
}
