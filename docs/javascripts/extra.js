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
