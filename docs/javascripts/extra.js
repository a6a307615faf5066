// The link to the repository in the header. The theme's own asks GitHub for stars; this one asks nobody.
document.addEventListener("DOMContentLoaded", () => {
  const header = document.querySelector(".md-header__inner");
  if (!header) return;
  const link = document.createElement("a");
  link.className = "repository";
  link.href = "https://github.com/jaxlint/jaxlint";
  link.textContent = "GitHub";
  header.append(link);
});

// Search wants every word of a pasted error, names of the user's own among them. The page that knows errors leaves names out.
document.addEventListener("input", (event) => {
  const field = event.composedPath()[0];
  if (!(field instanceof HTMLInputElement) || field.getAttribute("role") !== "combobox") return;
  const results = field.closest("dialog")?.querySelector("[role=listbox]");
  if (!results) return;
  const hint = results.parentElement.querySelector(".error-hint") ?? document.createElement("p");
  hint.hidden = !/\w(Error|Exception|Warning)\b|^Traceback/.test(field.value);
  if (hint.hidden) return;
  const link = document.createElement("a");
  const home = document.querySelector('link[href$="stylesheets/extra.css"]').href;
  link.href = new URL(`../errors/#pasted=${encodeURIComponent(field.value)}`, home);
  link.textContent = "Which rule is this error?";
  link.style.color = "inherit";
  hint.className = "error-hint";
  hint.style.cssText = "margin: 0; padding: 0.6em 1.5em; font-size: 0.7rem;";
  hint.replaceChildren("An error? ", link, " looks it up without the names of your own.");
  results.parentElement.prepend(hint);
});
