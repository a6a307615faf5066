(() => {
  const field = document.getElementById("pasted");
  const said = document.getElementById("said");
  const body = document.querySelector("#errors tbody");
  /** The words of a text but for names in quotes, which are the user's own; `replace` is a framework's. */
  const words = (text) => new Set((text.replace(/(?<!\w)'(?!replace')[^']*'/g, " ").match(/[A-Za-z_]{2,}/g) || []).map((word) => word.toLowerCase()));
  const rows = [...body.rows].map((row) => ({ row, words: words(row.cells[0].textContent) }));

  /** How much of what a row says has been pasted: longer texts say more. */
  const score = (row, pasted) => {
    const found = [...row.words].filter((word) => pasted.has(word)).length;
    return found >= 3 && found >= 0.6 * row.words.size ? found * (found / row.words.size) : 0;
  };

  const show = () => {
    const pasted = words(field.value);
    for (const row of rows) {
      row.score = score(row, pasted);
      row.row.hidden = pasted.size > 0 && row.score === 0;
    }
    body.append(...[...rows].sort((one, other) => other.score - one.score).map((row) => row.row));
    const shown = rows.filter((row) => !row.row.hidden).length;
    said.textContent = pasted.size === 0 ? "" : shown ? `${shown} of ${rows.length}, the closest first` : "No rule is known for that.";
  };
  field.addEventListener("input", show);

  // from the search, which looks for the user's own names as well and finds nothing
  const brought = new URLSearchParams(location.hash.slice(1)).get("pasted");
  if (brought) {
    field.value = brought;
    show();
  }
})();
