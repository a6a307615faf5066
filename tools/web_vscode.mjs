// Opens a file in a web VS Code, and prints what is seen: see web_vscode.py.
import { createRequire } from "node:module";

const { playwright, chromium: executablePath, env, address, file, picture } = JSON.parse(process.argv[2]);
const { chromium } = createRequire(playwright)("playwright-core");

const SWITCHES = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const PATIENCE = 60_000;

const browser = await chromium.launch({ executablePath, env, args: SWITCHES });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  page.setDefaultTimeout(PATIENCE);

  /** The lines of an editor from top to bottom, as they are drawn: with inlay hints. */
  const lines = (editor) =>
    editor.locator(".view-line").evaluateAll((nodes) =>
      nodes
        .map((node) => [parseFloat(node.style.top), node.textContent.replace(/[\u00a0\u200a]/g, " ").trimEnd()])
        .sort(([one], [other]) => one - other)
        .map(([, text]) => text),
    );

  /** What is seen once it has been the same for a second: hints and lenses move the lines. */
  const settled = async (look) => {
    for (let before = ""; ; ) {
      const now = JSON.stringify(await look());
      if (now === before) {
        return JSON.parse(now);
      }
      before = now;
      await page.waitForTimeout(1000);
    }
  };

  await page.goto(address);
  await page.getByRole("treeitem", { name: file }).dblclick();
  const editor = page.locator(".editor-instance").first();
  const squiggles = editor.locator(".squiggly-error, .squiggly-warning");
  await squiggles.first().waitFor();
  await editor.locator(".view-line", { hasText: /leaf/ }).first().waitFor();
  const lens = editor.locator(".codelens-decoration a");
  await lens.first().waitFor();
  const seen = await settled(async () => ({
    squiggles: await squiggles.count(),
    lines: await lines(editor),
    lenses: await lens.allTextContents(),
  }));

  await page.keyboard.press("Control+Shift+M");
  const problems = page.locator(".markers-panel .monaco-list-row");
  await problems.nth(1).waitFor();
  seen.problems = await problems.allTextContents();
  await page.screenshot({ path: picture });

  await lens.first().click();
  const drawing = page.locator(".editor-instance").nth(1);
  await drawing.locator(".view-line").first().waitFor();
  seen.drawing = await settled(() => lines(drawing));

  // the text lies over the squiggle and takes the click
  const { x, y } = await squiggles.first().boundingBox();
  await page.mouse.click(x + 2, y + 2);
  await page.keyboard.press("Control+.");
  // fixes come first
  const actions = page.locator(".action-widget .action");
  const wanted = page.locator(".action-widget .action.focused", { hasText: "noqa" });
  await page.locator(".action-widget .action.focused").waitFor();
  for (let left = await actions.count(); left > 0 && !(await wanted.isVisible()); left--) {
    await page.keyboard.press("ArrowDown");
  }
  await wanted.waitFor();
  await page.keyboard.press("Enter");
  await editor.locator(".view-line", { hasText: /noqa/ }).waitFor();
  seen.suppressed = await settled(() => lines(editor));
  await squiggles.nth(seen.squiggles - 1).waitFor({ state: "detached" });
  process.stdout.write(JSON.stringify(seen));
} finally {
  await browser.close();
}
