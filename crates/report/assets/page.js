// What the page does: it draws the charts, those in folded details once they are opened, and filters
// rows.
"use strict";
(() => {
  // The library looks texts up in objects: one that every object has, such as `toString`, gets a
  // blank behind it.
  const text = (key, value) =>
    typeof value === "string" && value in Object.prototype ? `${value}\u00a0` : value;
  const all = JSON.parse(document.getElementById("charts").textContent, text);
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const drawn = new Map();
  // The width, in pixels, below which a chart has another form, if it has one.
  const NARROW = 560;

  // Colours are the style sheet's, so that light, dark and print have one place each.
  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // As many columns of a legend as stand beside each other below a chart.
  const columns = (width) => Math.max(1, Math.floor((width - 60) / 150));

  const config = (width) => {
    const [text, faint, line] = ["--text", "--faint", "--line"].map(colour);
    const palette = [0, 1, 2, 3, 4, 5, 6, 7].map((index) => colour(`--v${index}`));
    const labels = { labelColor: text, titleColor: text, labelFontSize: 12, titleFontSize: 12,
                     titleFontWeight: "normal", labelLimit: Math.max(130, width * 0.45) };
    return {
      background: "transparent",
      font: "system-ui, sans-serif",
      view: { stroke: null },
      axis: { ...labels, domainColor: faint, tickColor: faint, gridColor: line },
      axisQuantitative: { tickCount: Math.max(3, Math.floor(width / 90)) },
      legend: { ...labels, columns: columns(width) },
      range: { category: palette },
      bar: { stroke: colour("--panel"), strokeWidth: 1, fill: palette[0] },
      text: { color: text, fontSize: 12 },
      rule: { color: text },
      line: { strokeWidth: 2 },
      rect: { stroke: null },
    };
  };

  const rowsOf = (chart) =>
    chart.rows.map((row) =>
      Object.fromEntries(chart.columns.map((column, index) => {
        const cell = row[index];
        return [column.field, column.words.length && cell !== null ? column.words[cell] : cell];
      })));

  // Columns without a title only help to draw.
  const shown = (chart) => chart.columns.filter(({ title }) => title !== "");

  // What is told of a point. Texts of the records are titles here and never part of an expression.
  const tell = (chart, plot) => (handler, event, item, datum) => {
    const lines = datum && shown(chart).map(({ field, title }) => `${title}: ${datum[field] ?? "–"}`);
    plot.title = lines ? lines.join("\n") : "";
  };

  const draw = (figure) => {
    try {
      attempt(figure);
    } catch (error) {
      figure.querySelector(".plot").textContent = "This chart could not be drawn. Its data are below.";
      console.error(error);
    }
  };

  const attempt = (figure) => {
    const chart = all[figure.dataset.chart];
    const plot = figure.querySelector(".plot");
    drawn.get(figure)?.finalize();
    const narrow = plot.clientWidth < NARROW && chart.spec.usermeta?.narrow;
    const spec = {
      ...(narrow || chart.spec),
      width: "container",
      autosize: { type: "fit-x", contains: "padding" },
      data: { values: rowsOf(chart) },
    };
    const compiled = charts.compile(spec, { config: config(plot.clientWidth) }).spec;
    const view = new charts.View(charts.parse(compiled, null, { ast: true }), {
      expr: charts.expressionInterpreter,
      renderer: "svg",
      container: plot,
      hover: false,
      tooltip: tell(chart, plot),
    });
    drawn.set(figure, view);
    view.run();
    // The place of the drawing tells it in words.
    plot.querySelector("svg").setAttribute("aria-hidden", "true");
  };

  // Without scrolling, so that they are there in print and in pictures of the page.
  const isFolded = (figure) => figure.parentElement.closest("details:not([open])") !== null;
  const drawNew = () =>
    figures.filter((figure) => !drawn.has(figure) && !isFolded(figure)).forEach(draw);
  drawNew();
  document.querySelectorAll("details.charts").forEach((details) =>
    details.addEventListener("toggle", drawNew));

  const again = () => [...drawn.keys()].forEach(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("beforeprint", again);
  addEventListener("afterprint", again);

  // A chart's data become a table when somebody asks for it.
  const cell = (tag, text, numeric) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (numeric) made.className = "number";
    if (tag === "th") made.scope = "col";
    return made;
  };
  const dataTable = (details) => {
    const figure = details.closest("figure");
    const chart = all[figure.dataset.chart];
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    const columns = shown(chart);
    const numeric = columns.map((column) => column.words.length === 0);
    columns.forEach((column, index) => head.append(cell("th", column.title, numeric[index])));
    const body = table.createTBody();
    for (const row of rowsOf(chart)) {
      const line = body.insertRow();
      columns.forEach((column, index) =>
        line.append(cell("td", row[column.field] ?? "–", numeric[index])));
    }
    const box = document.createElement("div");
    box.className = "scroll";
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `Data: ${figure.querySelector("strong").textContent}`);
    box.append(table);
    details.append(box);
  };
  document.querySelectorAll("details.data").forEach((details) =>
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector("table")) dataTable(details);
    }));

  // Filters.
  const has = (text, part) => text.toLowerCase().includes(part.trim().toLowerCase());
  const apply = (form) => {
    const by = Object.fromEntries(
      [...form.querySelectorAll("[data-by]")].map((input) =>
        [input.dataset.by, input.type === "checkbox" ? input.checked : input.value]));
    const table = document.getElementById(form.dataset.table);
    const rows = [...table.tBodies[0].rows];
    let shown = 0;
    for (const row of rows) {
      const of = row.dataset;
      row.hidden =
        (Boolean(by.scenario) && of.scenario !== by.scenario) ||
        (Boolean(by.ground) && of.ground !== by.ground) ||
        !has(of.metric, by.metric) ||
        !has(row.textContent, by.any) ||
        ("same" in of && by.same === false);
      shown += row.hidden ? 0 : 1;
    }
    for (const one of table.querySelectorAll("[data-column]")) {
      one.hidden = Boolean(by.variant) && !["0", by.variant].includes(one.dataset.column);
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length} rows`;
  };
  for (const form of document.querySelectorAll("form.filters")) {
    form.hidden = false;
    form.addEventListener("input", () => apply(form));
    form.addEventListener("submit", (event) => event.preventDefault());
    apply(form);
  }
})();
