/** What the language status item says. */

import type { Launch } from "./launch";

export type State =
  | { kind: "off" }
  | { kind: "starting" }
  | { kind: "running"; launch: Launch }
  | { kind: "failed"; why: string };

export interface Status {
  text: string;
  detail: string;
  busy: boolean;
  error: boolean;
}

export function describe(state: State): Status {
  switch (state.kind) {
    case "off":
      return { text: "jaxlint is off", detail: "jaxlint.enable", busy: false, error: false };
    case "starting":
      return { text: "jaxlint", detail: "starting", busy: true, error: false };
    case "running":
      return { text: `jaxlint ${state.launch.version}`, detail: state.launch.origin, busy: false, error: false };
    case "failed":
      return { text: "jaxlint does not run", detail: state.why, busy: false, error: true };
  }
}
