/** What VS Code activates: the commands, and the server that is restarted where a setting needs it. */

import { PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";
import { Server } from "./server";
import { NEEDS_RESTART } from "./settings";
import { Trees } from "./trees";

let server: Server | undefined;

/** The API of the Python extension, where that is installed. */
async function pythonExtension(log: vscode.LogOutputChannel): Promise<PythonExtension | undefined> {
  if (vscode.extensions.getExtension("ms-python.python") === undefined) {
    return undefined;
  }
  try {
    return await PythonExtension.api();
  } catch (error) {
    log.warn(`the Python extension does not answer: ${String(error)}`);
    return undefined;
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("jaxlint", { log: true });
  const trees = new Trees();
  const python = await pythonExtension(log);
  const running = new Server(context, log, python, (drawing) => trees.show(drawing));
  server = running;

  const restart = () => {
    void running.restart();
  };
  context.subscriptions.push(
    log,
    trees,
    vscode.commands.registerCommand("jaxlint.restart", restart),
    vscode.commands.registerCommand("jaxlint.showLog", () => {
      log.show();
    }),
    vscode.commands.registerTextEditorCommand("jaxlint.showTree", (editor) => {
      void running.askForTree(editor);
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (NEEDS_RESTART.some((key) => event.affectsConfiguration(`jaxlint.${key}`))) {
        restart();
      } else if (event.affectsConfiguration("jaxlint")) {
        void running.configure();
      }
    }),
  );
  if (python !== undefined) {
    context.subscriptions.push(python.environments.onDidChangeActiveEnvironmentPath(restart));
  }
  await running.restart();
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
}
