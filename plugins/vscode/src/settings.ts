/** The settings of the extension, and what the server is told of them. */

export interface Settings {
  enable: boolean;
  path: string[];
  interpreter: string;
  importStrategy: "fromEnvironment" | "useBundled";
  args: string[];
  server: ServerOptions;
}

/** What the server itself reads. */
export interface ServerOptions {
  inlayHints: boolean;
  codeLens: boolean;
  workspaceDiagnostics: boolean;
  configuration: string | null;
  settings: object;
}

export type Key = Exclude<keyof Settings, "server"> | keyof ServerOptions;

/** Reads one setting of the section `jaxlint`; VS Code fills in the defaults of package.json. */
export type Read = (key: Key) => unknown;

/** What `${workspaceFolder}`, `~` and `${env:NAME}` stand for. */
export interface Variables {
  workspaceFolder: string;
  home: string;
  env: NodeJS.ProcessEnv;
}

/** The settings that only a new server takes up. */
export const NEEDS_RESTART: readonly Key[] = [
  "enable",
  "path",
  "interpreter",
  "importStrategy",
  "args",
  "workspaceDiagnostics",
];

export function expand(value: string, variables: Variables): string {
  return value
    .replace(/^~(?=$|[\\/])/, () => variables.home)
    .replaceAll("${workspaceFolder}", () => variables.workspaceFolder)
    .replace(/\$\{env:([^}]+)\}/g, (_, name: string) => variables.env[name] ?? "");
}

/** The settings, checked: settings.json may hold anything. */
export function readSettings(read: Read, variables: Variables): Settings {
  const text = (value: unknown): string => (typeof value === "string" ? expand(value.trim(), variables) : "");
  const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(text).filter((t) => t !== "") : []);
  const settings = read("settings");
  return {
    enable: read("enable") !== false,
    path: texts(read("path")),
    interpreter: text(read("interpreter")),
    importStrategy: read("importStrategy") === "useBundled" ? "useBundled" : "fromEnvironment",
    args: texts(read("args")),
    server: {
      inlayHints: read("inlayHints") !== false,
      codeLens: read("codeLens") !== false,
      workspaceDiagnostics: read("workspaceDiagnostics") === true,
      configuration: text(read("configuration")) || null,
      settings: typeof settings === "object" && settings !== null && !Array.isArray(settings) ? settings : {},
    },
  };
}
