// SPDX-License-Identifier: Apache-2.0
// Copying tables, and heads that sort.

/**
 * @param {string[][]} rows
 */
function csvText(rows) {
  return rows.map((row) => row.map(csvField).join(",")).join("\r\n") + "\r\n";
}

/**
 * Saves bytes as a file.
 * @param {Blob} blob
 * @param {string} name
 */
function saveFile(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/**
 * A button that copies rows as CSV, or saves them where the clipboard refuses.
 * @param {string} name of the file
 * @param {() => string[][]} rows
 */
function copyButton(name, rows) {
  const button = element("button.quiet", { type: "button" }, "Copy as CSV");
  button.addEventListener("click", async () => {
    const text = csvText(rows());
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      saveFile(new Blob([text], { type: "text/csv" }), name + ".csv");
      said = "Saved as " + name + ".csv";
    }
    button.textContent = said;
    announce(said);
    setTimeout(() => { button.textContent = "Copy as CSV"; }, 2000);
  });
  return button;
}

/** @typedef {{key: string, title: string, term?: string, number?: boolean, narrow?: boolean, isSortable?: boolean}} Column */

/**
 * The head of a table, with a button in each column that can be sorted.
 * @param {Column[]} columns
 * @param {{key: string, ascending: boolean}} order
 * @param {(key: string) => void} sort
 */
function sortableHead(columns, order, sort) {
  const row = element("tr");
  for (const column of columns) {
    const isOrder = column.key === order.key;
    const cell = element("th" + (column.number ? ".n" : "") + (column.narrow ? ".hide-narrow" : ""), {
      scope: "col",
      "aria-sort": isOrder ? (order.ascending ? "ascending" : "descending") : null,
    });
    if (column.isSortable === false) {
      cell.append(column.title);
    } else {
      const mark = isOrder ? (order.ascending ? " ↑" : " ↓") : "";
      cell.append(
        element("button", { type: "button", "data-sort": column.key, click: () => sort(column.key) }, column.title + mark),
      );
    }
    row.append(cell);
  }
  return element("thead", {}, row);
}
