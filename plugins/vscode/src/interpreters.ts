/** Which Python interpreters may run jaxlint, the best first. */

import * as path from "node:path";

export interface Candidate {
  interpreter: string;
  origin: string;
}

export interface Machine {
  platform: NodeJS.Platform;
  isFile: (path: string) => boolean;
}

/** The interpreters in the virtual environments of a workspace folder. */
function inFolder(folder: string, machine: Machine): Candidate[] {
  const windows = machine.platform === "win32";
  const paths = windows ? path.win32 : path.posix;
  const python = windows ? ["Scripts", "python.exe"] : ["bin", "python"];
  return [".venv", "venv"]
    .map((name) => ({ interpreter: paths.join(folder, name, ...python), origin: `${name} of the workspace` }))
    .filter(({ interpreter }) => machine.isFile(interpreter));
}

/**
 * An interpreter that the settings name is the only candidate. Otherwise: the one that the Python extension has selected,
 * the virtual environments of the workspace, and the one on the PATH.
 */
export function findCandidates(
  setting: string,
  selected: string | undefined,
  folders: string[],
  machine: Machine,
): Candidate[] {
  if (setting !== "") {
    return [{ interpreter: setting, origin: "jaxlint.interpreter" }];
  }
  const found: Candidate[] = [
    ...(selected === undefined ? [] : [{ interpreter: selected, origin: "the Python extension" }]),
    ...folders.flatMap((folder) => inFolder(folder, machine)),
    { interpreter: machine.platform === "win32" ? "python" : "python3", origin: "the PATH" },
  ];
  return found.filter(
    (one, index) => found.findIndex((other) => other.interpreter === one.interpreter) === index,
  );
}
