/** The language server: found, started, restarted, and what its status item shows. */

import type { PythonExtension } from "@vscode/python-extension";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import {
  DidChangeConfigurationNotification,
  LanguageClient,
  RevealOutputChannelOn,
  State as ClientState,
} from "vscode-languageclient/node";
import { findCandidates } from "./interpreters";
import { findLaunch, type Launch } from "./launch";
import { run } from "./run";
import { readSettings, type Settings } from "./settings";
import { describe, type State } from "./status";

const SELECTOR = [
  { scheme: "file", language: "python" },
  { scheme: "untitled", language: "python" },
];

/** The command of the server that draws the pytree of a class. */
const TREE_COMMAND = "jaxlint.tree";

function settings(): Settings {
  const section = vscode.workspace.getConfiguration("jaxlint");
  return readSettings((key) => section.get(key), {
    workspaceFolder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? os.homedir(),
    home: os.homedir(),
    env: process.env,
  });
}

function isFile(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

export class Server {
  #client: LanguageClient | undefined;
  #turn: Promise<void> = Promise.resolve();
  readonly #status = vscode.languages.createLanguageStatusItem("jaxlint.status", SELECTOR);

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly python: PythonExtension | undefined,
    /** Is given the drawing of a pytree that the server was asked for. */
    private readonly showTree: (drawing: string) => Promise<void>,
  ) {
    this.#status.name = "jaxlint";
    this.#show({ kind: "off" });
  }

  /** Stops the server if it runs and starts it as the settings now say. One call waits for the other. */
  restart(): Promise<void> {
    return this.#next(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  dispose(): Promise<void> {
    return this.#next(async () => {
      await this.#stop();
      this.#status.dispose();
    });
  }

  /** Shows the pytree of the class at the cursor. */
  async askForTree(editor: vscode.TextEditor): Promise<void> {
    const client = this.#client;
    if (client?.isRunning() !== true) {
      void vscode.window.showWarningMessage("jaxlint does not run.");
      return;
    }
    const { document, selection } = editor;
    const asked = [client.code2ProtocolConverter.asUri(document.uri), selection.active.line];
    const drawing: unknown = await vscode.commands.executeCommand(TREE_COMMAND, ...asked);
    if (drawing === null) {
      void vscode.window.showInformationMessage("There is no pytree class in this file.");
    }
  }

  /** Tells the server those settings that it reads itself. */
  async configure(): Promise<void> {
    const told = { settings: { jaxlint: settings().server } };
    await this.#client?.sendNotification(DidChangeConfigurationNotification.type, told);
  }

  #next(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(step).catch((error: unknown) => {
      this.#fail(String(error));
    });
    return this.#turn;
  }

  async #start(): Promise<void> {
    const now = settings();
    if (!now.enable) {
      this.#show({ kind: "off" });
      return;
    }
    this.#show({ kind: "starting" });
    const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
    const candidates = findCandidates(now.interpreter, await this.#selected(), folders, {
      platform: process.platform,
      isFile,
    });
    const places = {
      bundle: this.context.asAbsolutePath(path.join("bundled", "libs")),
      neutral: this.context.extensionPath,
      workspace: folders[0] ?? os.homedir(),
    };
    const launch = await findLaunch(now, candidates, places, run, (line) => {
      this.log.warn(line);
    });
    if (launch === undefined) {
      this.#fail("no interpreter can run it");
      return;
    }
    this.log.info(`jaxlint ${launch.version}, ${launch.origin}: ${[launch.command, ...launch.args].join(" ")}`);
    this.#client = this.#connect(launch, now);
    await this.#client.start();
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.dispose();
  }

  /** The interpreter that the Python extension has selected for the first folder. */
  async #selected(): Promise<string | undefined> {
    const environments = this.python?.environments;
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const selected = environments?.getActiveEnvironmentPath(folder);
    return selected && (await environments?.resolveEnvironment(selected))?.executable.uri?.fsPath;
  }

  #connect(launch: Launch, now: Settings): LanguageClient {
    const executable = {
      command: launch.command,
      args: launch.args,
      options: { cwd: launch.cwd, env: { ...process.env, ...launch.env } },
    };
    const client = new LanguageClient("jaxlint", "jaxlint", executable, {
      documentSelector: SELECTOR,
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: now.server,
      middleware: {
        executeCommand: async (command, args, next) => {
          const result: unknown = await next(command, args);
          if (command === TREE_COMMAND && typeof result === "string") {
            await this.showTree(result);
          }
          return result;
        },
      },
    });
    client.onDidChangeState(({ newState }) => {
      if (client !== this.#client) {
        return;
      }
      if (newState === ClientState.Running) {
        this.#show({ kind: "running", launch });
      } else if (newState === ClientState.Starting) {
        this.#show({ kind: "starting" });
      } else {
        this.#show({ kind: "failed", why: "the server has stopped" });
      }
    });
    return client;
  }

  #fail(why: string): void {
    this.log.error(why);
    this.#show({ kind: "failed", why });
    void vscode.window.showErrorMessage(`jaxlint does not run: ${why}`, "Show Log").then((chosen) => {
      if (chosen !== undefined) {
        this.log.show();
      }
    });
  }

  #show(state: State): void {
    const { text, detail, busy, error } = describe(state);
    this.#status.text = text;
    this.#status.detail = detail;
    this.#status.busy = busy;
    this.#status.severity = error ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
    this.#status.command = error
      ? { command: "jaxlint.showLog", title: "Show Log" }
      : { command: "jaxlint.restart", title: "Restart" };
  }
}
