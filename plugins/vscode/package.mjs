// Writes the .vsix for this platform: bundled/ holds compiled modules.
import { createVSIX } from "@vscode/vsce";
import { copyFileSync } from "node:fs";

copyFileSync("../../LICENSE", "LICENSE");
await createVSIX({ target: `${process.platform}-${process.arch}`, dependencies: false, allowMissingRepository: true });
