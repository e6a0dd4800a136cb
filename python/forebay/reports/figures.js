// Shows the value of a figure under the pointer, and magnifies a part that is dragged over. Without
// this script nothing is missing from the page.
"use strict";
for (const figure of document.querySelectorAll("figure[data-values]")) {
  const values = JSON.parse(figure.dataset.values);
  const svg = figure.querySelector("svg");
  const said = figure.querySelector("figcaption");
  const whole = svg.getAttribute("viewBox").split(/[ ,]+/).map(Number);
  const [left, top, right, bottom] = values.box;
  const mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  mark.setAttribute("fill", "none");
  mark.setAttribute("stroke", "currentColor");
  svg.append(mark);
  const cells = values.cells.map(pairs => {
    const found = new Map();
    for (let i = 0, cell = 0; i < pairs.length; i += 2) found.set((cell += pairs[i]), pairs[i + 1]);
    return found;
  });
  let from = null;

  const bytes = amount => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = 0;
    for (; amount >= 1024 && power < 4; ++power) amount /= 1024;
    return `${+amount.toPrecision(amount >= 1000 ? 4 : 3)} ${units[power]}`;
  };
  const shown = (value, unit, span) => {
    if (unit === "B") return bytes(value);
    if (unit === "B/s") return `${bytes(value)}/s`;
    if (unit === "%") return `${value} %`;
    if (unit === "s") return `${value.toFixed(Math.max(0, 4 - Math.ceil(Math.log10(span))))} s`;
    return `${value.toLocaleString("en")} ${unit}`.trim();
  };
  const place = (low, high, unit, part) => shown(low + (high - low) * part, unit, Math.abs(high - low));
  const at = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const outline = (x, y, width, height) => {
    for (const [name, value] of Object.entries({ x, y, width, height })) mark.setAttribute(name, Math.max(0, value));
    mark.setAttribute("stroke-width", svg.viewBox.baseVal.width / 900);
  };
  const magnify = box => {
    svg.setAttribute("viewBox", box.join(" "));
    outline(0, 0, 0, 0);
  };

  const tell = point => {
    const across = (point.x - left) / (right - left), up = (bottom - point.y) / (bottom - top);
    if (across < 0 || across >= 1 || up < 0 || up >= 1) {
      said.textContent = "";
      outline(0, 0, 0, 0);
      return;
    }
    const column = Math.floor(across * values.columns);
    const rising = values.y[1] >= values.y[0];
    const row = Math.floor((rising ? up : 1 - up) * values.rows);
    const words = [];
    if (values.column_labels.length) words.push(values.column_labels[column]);
    else if (values.x[2]) words.push(place(...values.x, across));
    if (values.row_labels.length) words.push(values.row_labels[row]);
    else if (values.y[2]) words.push(place(...values.y, up));
    const counts = cells.map((found, kind) => {
      const value = found.get(row * values.columns + column) ?? 0;
      return `${values.kinds[kind]} ${shown(value, values.unit)}`.trim();
    });
    said.textContent = [...words.filter(word => word), ...counts].join(" · ");
    const width = (right - left) / values.columns, height = (bottom - top) / values.rows;
    const above = rising ? bottom - (row + 1) * height : top + row * height;
    if (from === null) outline(left + column * width, above, width, height);
  };

  const area = (one, other) => {
    const x = Math.min(one.x, other.x), y = Math.min(one.y, other.y);
    return [x, y, Math.abs(one.x - other.x), Math.abs(one.y - other.y)];
  };
  figure.addEventListener("pointermove", event => {
    const point = at(event);
    if (from !== null) outline(...area(from, point));
    tell(point);
  });
  figure.addEventListener("pointerleave", () => { said.textContent = ""; outline(0, 0, 0, 0); });
  figure.addEventListener("pointerdown", event => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = at(event);
    event.preventDefault();
  });
  addEventListener("pointerup", event => {
    if (from === null) return;
    let [x, y, width, height] = area(from, at(event));
    from = null;
    outline(0, 0, 0, 0);
    if (width < 8 && height < 8) return;
    const shape = whole[2] / whole[3];
    const wide = Math.max(width, height * shape);
    magnify([x - (wide - width) / 2, y - (wide / shape - height) / 2, wide, wide / shape]);
  });
  figure.addEventListener("dblclick", () => magnify(whole));
}
