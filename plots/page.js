"use strict";
/* What pages for a browser share: elements from texts, never from markup; figures; dark and light. */
const page = JSON.parse(document.getElementById("data").textContent);
const by = id => document.getElementById(id);

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    for (const child of children) element.append(child);
    return element;
}
const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/* A number of a table: 4 significant digits, or an integer. */
const short = x => Number.isInteger(x) || Math.abs(x) >= 1e4 && Math.abs(x) < 1e12 ? count(Math.round(x)) : Math.abs(x) < 1e-3 || Math.abs(x) >= 1e12 ? x.toExponential(2) : x.toPrecision(4);
const brief = x => Number(x.toPrecision(3)).toString();
const count = n => n.toLocaleString("en");

/* A table from its heads and rows; columns of numbers are aligned to the right. */
function tabulate(caption, heads, rows, numbers) {
    const cell = (tag, content, i, more) => make(tag, Object.assign(numbers.includes(i) ? { class: "n" } : {}, more), content);
    return make("table", {}, make("caption", {}, caption),
        make("thead", {}, make("tr", {}, ...heads.map((head, i) => cell("th", head, i, { scope: "col" })))),
        make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map((content, i) => cell("td", content, i))))));
}

/* A frame with axes: x from 1 to n, printed from 1 + before, y from low to high, printed by `print`. Returns the figure and its two scales. */
function axes(title, n, low, high, labels, before = 0, print = brief) {
    const width = Math.max(320, Math.min(1000, document.body.clientWidth - 20)), height = 260, left = 52, bottom = 34;
    const x = i => left + 8 + (i - 1) / Math.max(1, n - 1) * (width - left - 24), y = v => height - bottom - (v - low) / (high - low || 1) * (height - bottom - 26);
    const figure = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
    for (let i = 0; i <= 4; ++i) {
        const v = low + i / 4 * (high - low);
        figure.append(draw("line", { class: "axis", x1: left, x2: width, y1: y(v), y2: y(v) }), draw("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, print(v)));
    }
    for (const i of new Set([1, Math.round((n + 1) / 2), n])) figure.append(draw("text", { x: x(i), y: height - bottom + 16, "text-anchor": "middle" }, String(i + before)));
    figure.append(draw("text", { x: width / 2, y: height - 3, "text-anchor": "middle" }, labels[0]), draw("text", { x: 4, y: 10 }, labels[1]));
    return { figure, x, y, width };
}

/* The mode of the system, until the button chooses. */
by("theme").addEventListener("click", () => {
    const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = (root.dataset.theme || (system ? "dark" : "light")) === "dark" ? "light" : "dark";
    document.dispatchEvent(new Event("theme"));
});
