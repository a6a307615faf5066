/** Shows the drawing of a pytree in a read-only editor beside the code. */

import * as vscode from "vscode";

const PLACE = vscode.Uri.from({ scheme: "jaxlint-tree", path: "/pytree" });

export class Trees implements vscode.Disposable, vscode.TextDocumentContentProvider {
  #drawing = "";
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #registration = vscode.workspace.registerTextDocumentContentProvider(PLACE.scheme, this);
  readonly onDidChange = this.#changed.event;

  /** A new drawing takes the place of the one before. */
  async show(drawing: string): Promise<void> {
    this.#drawing = drawing;
    this.#changed.fire(PLACE);
    const document = await vscode.workspace.openTextDocument(PLACE);
    await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: true,
    });
  }

  provideTextDocumentContent(): string {
    return this.#drawing;
  }

  dispose(): void {
    this.#registration.dispose();
    this.#changed.dispose();
  }
}
