// Bundles the extension and the licences of what is in it, or with --tests its unit tests, into out/.
import { build } from "esbuild";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const tests = process.argv.includes("--tests");
const outdir = tests ? "out/test" : "out";

/** The licences of the packages that the inputs of a bundle are from. */
function licences(inputs) {
  const packages = new Set(inputs.map((path) => /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
  return [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) {
      throw new Error(`${folder} has no licence`);
    }
    return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
  });
}

rmSync(outdir, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: tests ? readdirSync("test").map((name) => `test/${name}`) : ["src/extension.ts"],
  outdir,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
  minify: !tests,
  sourcemap: tests ? "inline" : false,
  metafile: true,
  logLevel: "warning",
});
if (!tests) {
  writeFileSync("out/licences.txt", licences(Object.keys(metafile.inputs)).join(`\n${"-".repeat(80)}\n\n`));
}
