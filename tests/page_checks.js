/* SPDX-License-Identifier: Apache-2.0 */
/* What bats/page.bats and bats/exports.bats ask of a picture in a browser (tests/browser, run:FILE). */
"use strict";

/* The corners of what is drawn, on the screen, also where it is turned. */
function cornersOf(e) {
  const b = e.getBBox(),
    m = e.getScreenCTM();
  return [
    [b.x, b.y],
    [b.x + b.width, b.y],
    [b.x + b.width, b.y + b.height],
    [b.x, b.y + b.height],
  ].map(([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f]);
}
/* Convex shapes overlap when no side of either has all of the other behind it. */
function overlap(p, q, slack = 0.5) {
  for (const shape of [p, q])
    for (let k = 0; k < shape.length; k++) {
      const [x0, y0] = shape[k],
        [x1, y1] = shape[(k + 1) % shape.length],
        n = [y1 - y0, x0 - x1],
        long = Math.hypot(...n) || 1;
      const reach = s => s.map(([x, y]) => (x * n[0] + y * n[1]) / long),
        [a, b] = [reach(p), reach(q)];
      if (Math.min(...a) >= Math.max(...b) - slack || Math.min(...b) >= Math.max(...a) - slack) return false;
    }
  return true;
}
/* A line as pieces as thick as it is. */
function piecesOf(path) {
  const m = path.getScreenCTM(),
    long = path.getTotalLength(),
    half = parseFloat(getComputedStyle(path).strokeWidth) / 2,
    out = [];
  const at = d => {
    const p = path.getPointAtLength(d);
    return [m.a * p.x + m.c * p.y + m.e, m.b * p.x + m.d * p.y + m.f];
  };
  for (let k = 0; k < 12; k++) {
    const [a, b] = [at((long * k) / 12), at((long * (k + 1)) / 12)],
      dx = b[0] - a[0],
      dy = b[1] - a[1],
      len = Math.hypot(dx, dy) || 1;
    if (len > (2 * long * Math.hypot(m.a, m.b)) / 12) continue; /* from one part of a path to the next */
    const n = [(-dy / len) * half, (dx / len) * half];
    out.push([
      [a[0] + n[0], a[1] + n[1]],
      [b[0] + n[0], b[1] + n[1]],
      [b[0] - n[0], b[1] - n[1]],
      [a[0] - n[0], a[1] - n[1]],
    ]);
  }
  return out;
}
/* Labels that lie on another label, on a line or on a host's or switch's sign; and how many there are. */
function overlaps(root = document) {
  const svg = root.querySelector("#panes svg, body > svg");
  const labels = [...svg.querySelectorAll("text")]
    .filter(t => t.textContent)
    .map(t => ({ text: t.textContent, at: cornersOf(t) }));
  const marks = [...svg.querySelectorAll("rect.mark, circle.mark")].map(cornersOf);
  const lines = [...svg.querySelectorAll("path.link")].flatMap(piecesOf);
  const bad = [];
  labels.forEach((a, k) => {
    for (const b of labels.slice(k + 1)) if (overlap(a.at, b.at)) bad.push(`${a.text} on ${b.text}`);
    if (marks.some(m => overlap(a.at, m))) bad.push(`${a.text} on a sign`);
    if (lines.some(l => overlap(a.at, l))) bad.push(`${a.text} on a line`);
  });
  return { labels: labels.length, bad };
}
/* Keys of what is drawn in the strong colour. */
function strong() {
  const probe = document.createElement("i");
  probe.style.color = "var(--strong)";
  (document.querySelector("body > svg")?.parentNode ?? document.body).append(probe);
  const colour = getComputedStyle(probe).color,
    keys = new Set();
  probe.remove();
  for (const e of document.querySelectorAll("#panes svg *")) {
    const s = getComputedStyle(e);
    if (s.fill === colour || s.stroke === colour) keys.add(e.closest("[data-key]").dataset.key);
  }
  return [...keys].sort();
}
/* How far the colours of the hosts' links are apart, 0 to 255. */
function spread() {
  const all = [...document.querySelectorAll("#panes .host > .link, #panes .group > .link")].map(e => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    canvas.fillStyle = getComputedStyle(e).stroke;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  });
  return Math.max(...[0, 1, 2].map(c => Math.max(...all.map(p => p[c])) - Math.min(...all.map(p => p[c]))));
}
/* When the picture follows a new size of the window. */
const settled = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))));
/* The parts of its pane that a picture has, across and down. */
function filled() {
  const view = document.querySelector(".view").getBoundingClientRect(),
    boxes = [...document.querySelectorAll("#panes .item .mark, #panes text")].map(e =>
      e.getBoundingClientRect(),
    );
  const reach = (low, high) => Math.max(...boxes.map(b => b[high])) - Math.min(...boxes.map(b => b[low]));
  return [reach("left", "right") / view.width, reach("top", "bottom") / view.height];
}
/* Pixels on the screen of the thinnest link in the strong colour. */
function thinnest() {
  const links = [...document.querySelectorAll("#panes .strong > .link")];
  return Math.min(...links.map(e => parseFloat(getComputedStyle(e).strokeWidth) * e.getScreenCTM().a));
}
/* Right edges of the values of hosts. */
function edges() {
  const all = [
    ...document.querySelectorAll(
      "#panes .host text.small[text-anchor=end], #panes .group text.small[text-anchor=end]",
    ),
  ];
  return [...new Set(all.map(e => Math.round(e.getBoundingClientRect().right)))];
}
/* What one uses on a phone: the tops and the least height of the controls; how the parts follow each other. */
function onPhone() {
  const controls = [
      ...document.querySelectorAll("#controls select, #controls input, #controls button, #tabs button"),
    ]
      .filter(e => e.offsetWidth)
      .map(e => [e.closest("#controls") && e.getBoundingClientRect().top, e.offsetHeight]),
    top = q => document.querySelector(q).getBoundingClientRect().top;
  return {
    rows: new Set(controls.map(([row]) => row).filter(row => row !== null)).size,
    least: Math.min(...controls.map(([, high]) => high)),
    findingsFirst: top("#side") < top(".view"),
    bars: [...document.querySelectorAll(".view")].filter(v => v.scrollHeight > v.clientHeight + 1).length,
    seen: top("#panel tbody tr:last-child") < innerHeight,
  };
}
