// SPDX-License-Identifier: Apache-2.0
// The processes of a job: what a step of each consists of, and what was recorded. Heads sort.

/** @typedef {{columns: {title: string, align?: string}[], rows: string[][], sums?: string[]}} TextTable */

addView("processes", ({ figure, data }) => {
  /** @type {TextTable | undefined} */
  const steps = data.steps;
  if (steps) addTable(steps, "A step of each process", "steps-of-processes");
  addTable(data, "What was recorded", "processes");

  /**
   * @param {TextTable} of
   * @param {string} title
   * @param {string} name
   */
  function addTable(of, title, name) {
    const { columns, rows } = of;
    let order = { key: "", ascending: true };
    const holder = element("div.scroll", { tabindex: "0", role: "group", "aria-label": title });
    /** @param {string} text */
    const numberOf = (text) => Number(text.replace(/[,\s%\u2009]|[a-z]+$/gi, "").replace(minusSign, "-"));
    const isLess = (/** @type {number} */ index) => /^(host|pid|ranges|GPU ops)$/.test(columns[index]?.title ?? "") && index > 0;
    const classOf = (/** @type {number} */ index) => (columns[index]?.align === "right" ? ".n" : "") + (isLess(index) ? ".hide-narrow" : "");

    function sorted() {
      const column = Number(order.key);
      if (order.key === "") return rows;
      const areNumbers = rows.every((row) => row[column] === "" || Number.isFinite(numberOf(row[column])));
      return rows.slice().sort((a, b) => {
        const difference = areNumbers ? numberOf(a[column]) - numberOf(b[column]) : a[column].localeCompare(b[column]);
        return order.ascending ? difference : -difference;
      });
    }
    function draw() {
      const heads = columns.map((column, index) => ({ key: String(index), title: column.title, number: column.align === "right", narrow: isLess(index) }));
      const head = sortableHead(heads, order, (key) => {
        order = { key, ascending: order.key === key ? !order.ascending : true };
        draw();
        /** @type {HTMLElement | null} */ (holder.querySelector(`button[data-sort="${key}"]`))?.focus();
      });
      const body = element("tbody", {}, ...sorted().map((row) => element("tr", {},
        ...row.map((text, index) => element("td" + classOf(index), {}, text)))));
      const foot = of.sums?.length ? element("tfoot", {}, element("tr.sum", {}, ...of.sums.map((text, index) => element("td" + classOf(index), {}, text)))) : null;
      holder.replaceChildren(element("table.process-table", {}, element("caption", {}, title), head, body, foot));
    }
    draw();
    figure.append(holder, element("div.actions", {}, copyButton(name, () => [columns.map((column) => column.title), ...sorted(), ...(of.sums?.length ? [of.sums] : [])])));
  }
  return {};
});
