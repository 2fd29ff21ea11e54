// SPDX-License-Identifier: Apache-2.0
// The processes of a job, one row each, with heads that sort.

addView("processes", ({ figure, data }) => {
  /** @type {{title: string, align?: string}[]} */
  const columns = data.columns;
  /** @type {string[][]} */
  const all = data.rows;
  let order = { key: "", ascending: true };
  const holder = element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Processes" });
  /** @param {string} text */
  const numberOf = (text) => Number(text.replace(/[,\s%\u2009]|[a-z]+$/gi, "").replace(minusSign, "-"));

  function sorted() {
    const column = Number(order.key);
    if (order.key === "") return all;
    const areNumbers = all.every((row) => row[column] === "" || Number.isFinite(numberOf(row[column])));
    return all.slice().sort((a, b) => {
      const difference = areNumbers ? numberOf(a[column]) - numberOf(b[column]) : a[column].localeCompare(b[column]);
      return order.ascending ? difference : -difference;
    });
  }
  function draw() {
    const heads = columns.map((column, index) => ({ key: String(index), title: column.title, number: column.align === "right" }));
    const head = sortableHead(heads, order, (key) => {
      order = { key, ascending: order.key === key ? !order.ascending : true };
      draw();
      /** @type {HTMLElement | null} */ (holder.querySelector(`button[data-sort="${key}"]`))?.focus();
    });
    const body = element("tbody", {}, ...sorted().map((row) => element("tr", {},
      ...row.map((text, index) => element("td" + (columns[index]?.align === "right" ? ".n" : ""), {}, text)))));
    holder.replaceChildren(element("table", {}, element("caption.unseen", {}, "Processes of the job"), head, body));
  }
  draw();
  figure.append(holder, element("div.actions", {}, copyButton("processes", () => [columns.map((column) => column.title), ...sorted()])));
  return {};
});
