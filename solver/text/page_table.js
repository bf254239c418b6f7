/* SPDX-License-Identifier: Apache-2.0 */
/* What is around the pictures: selection, tables, legend, the address. */
const PAGE = 200; /* rows of a table at once */
const el = (tag, about = {}, ...inside) => {
  const e = Object.assign(document.createElement(tag), about);
  e.append(...inside);
  return e;
};
const here = maps[0];

/* ---- pictures -------------------------------------------------------------------------------*/

const panes = maps.map((map, k) => {
  const view = el("div", { className: "view", innerHTML: "<svg></svg>" }),
    svg = view.firstChild;
  const figure = el("figure", {}, view);
  if (maps.length > 1)
    figure.prepend(
      el("figcaption", { textContent: `${k ? "reference" : "map"}: ${map.title}, ${map.what}` }),
    );
  svg.setAttribute("role", map.isTree ? "tree" : "listbox");
  svg.setAttribute("aria-label", `Picture of ${map.title}: ${map.what}`);
  $("panes").append(figure);
  return { map, view, svg, zoom: 1, byHand: false, crowded: false, items: [], focus: "" };
});

function paintPane(pane) {
  const { svg, view, map } = pane,
    room = Math.max(300, view.clientWidth - 18);
  const held = svg.contains(document.activeElement) ? pane.focus : null;
  svg.innerHTML =
    map.isTree && !state.layout.startsWith("stress") ? drawTree(pane, room) : drawNet(pane, room);
  view.classList.toggle("solid", state.layout === "stress-3d");
  svg.setAttribute("viewBox", `0 0 ${pane.size.join(" ")}`);
  if (!pane.byHand) fitPane(pane);
  scalePane(pane);
  pane.byKey = new Map([...svg.querySelectorAll("[data-key][role]")].map(g => [g.dataset.key, g]));
  if (!pane.byKey.has(pane.focus)) pane.focus = pane.items[0]?.key ?? "";
  pane.byKey.get(pane.focus)?.setAttribute("tabindex", "0");
  if (held !== null) pane.byKey.get(pane.focus)?.focus({ preventScroll: true });
}
/* A tree is as wide as the window, and as high as it is; the others are seen whole, if they can be read. */
function fitPane(pane) {
  const across = (pane.view.clientWidth - 18) / pane.size[0],
    down = (pane.view.clientHeight - 4) / pane.size[1];
  pane.zoom =
    state.layout === "tree"
      ? Math.min(1, across)
      : Math.max(pane.crowded ? 0.2 : 0.7, Math.min(1, across, down));
}
function scalePane(pane) {
  pane.svg.setAttribute("width", Math.round(pane.size[0] * pane.zoom));
  pane.svg.setAttribute("height", Math.round(pane.size[1] * pane.zoom));
}
function paint() {
  document.documentElement.toggleAttribute(
    "data-dark",
    !matchMedia("print").matches &&
      (state.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark",
  );
  if (state.by !== "findings") range = rangeOf(state.by);
  panes.forEach(paintPane);
  paintLegend();
  markPicked();
  keepAddress();
}

/* ---- selection: a key is a host's, a switch's or a group's name, or a link's "a~b" -------------*/

function markPicked() {
  document.body.dataset.chosen = state.select;
  const pick = (g, on) => {
    g.classList.toggle("picked", on);
    if (g.hasAttribute("role")) g.setAttribute("aria-selected", on);
  };
  for (const pane of panes) {
    for (const g of pane.svg.querySelectorAll(".picked")) pick(g, false);
    for (const g of pane.svg.querySelectorAll(`[data-key="${CSS.escape(state.select)}"]`)) pick(g, true);
  }
  for (const tr of $("panel").querySelectorAll("tbody tr")) {
    const on = tr.dataset.key === state.select && state.select !== "";
    tr.classList.toggle("picked", on);
    if (on) tr.querySelector("button").setAttribute("aria-current", "true");
    else tr.querySelector("button").removeAttribute("aria-current");
  }
}
function wordsOfKey(map, key) {
  const n = map.byName.get(key);
  if (n) return [nodeWords(map, n), nodeRemarks(n)];
  const l = map.links.find(x => x.key === key);
  if (l) return [[`link ${map.nodes[l.a].name} - ${map.nodes[l.b].name}`, ...linkWords(l)], remarks(l)];
  const row = panes.find(p => p.map === map).items.find(it => it.key === key);
  return row?.group ? [groupWords(row), []] : null;
}
/* from: "table", "picture" or "" (the address, the field) */
function select(key, from = "") {
  const map = maps.find(m => m.byName.has(key) || m.links.some(l => l.key === key)) ?? null;
  const row = panes.flatMap(p => p.items).find(it => it.key === key);
  state.select = map || row ? key : "";
  let repaint = false;
  for (const m of maps) {
    const l = m.byName.get(key) ? null : m.links.find(x => x.key === key),
      ends = l ? [m.nodes[l.a], m.nodes[l.b]] : [m.byName.get(key)];
    const hidden = panes.find(p => p.map === m);
    for (const n of ends)
      if (n && !hidden.byKey?.has(n.name)) {
        reveal(m, n);
        repaint = true;
      }
  }
  if (repaint) paint();
  else {
    markPicked();
    keepAddress();
  }
  $("said").textContent = !key
    ? ""
    : state.select
      ? (wordsOfKey(map ?? here, key)
          ?.flat()
          .join("; ") ?? "")
      : `no ${key} here`;
  for (const pane of panes) {
    const g = [...pane.svg.querySelectorAll("[data-key]")].find(x => x.dataset.key === key);
    if (!g || !state.select) continue;
    if (g.hasAttribute("role")) moveFocus(pane, key, false);
    if (from !== "picture")
      (g.querySelector(".mark") ?? g).scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  if (from !== "table" && state.select) showRow(key);
}
function moveFocus(pane, key, really) {
  pane.byKey.get(pane.focus)?.setAttribute("tabindex", "-1");
  pane.focus = key;
  pane.byKey.get(key)?.setAttribute("tabindex", "0");
  if (really) pane.byKey.get(key)?.focus();
}

/* ---- tables ---------------------------------------------------------------------------------*/

const cell = x => (Number.isFinite(x) ? +x.toPrecision(4) + "" : "");
const told = f => {
  const at = f.at ?? maps[1]?.differences.find(d => d.k === f.k)?.at; /* only one of the two may have it */
  return { key: at ? (at.key ?? at.name) : "", strong: true, cells: [f.text] };
};
/* Of a map whose links were not judged, as one of another program. */
const suspects = () =>
  here.links
    .filter(l => l.suspect && !l.findings.length && !here.judged)
    .map(l => ({
      key: l.key,
      strong: true,
      cells: [`link ${here.nodes[l.a].name} - ${here.nodes[l.b].name} is worse than its class`],
    }));
const hostsOf = map => map.nodes.filter(n => !n.switch);
const tables = {
  findings: {
    title: "Findings",
    head: ["What is worse than its like"],
    rows: () => [...here.findings.map(told), ...suspects()],
  },
  differences: {
    title: "Differences",
    head: ["Against the reference"],
    rows: () => here.differences.map(told),
  },
  hosts: {
    title: "Hosts",
    head: ["host", "at", "us", "MB/s", "back"],
    rows: () =>
      hostsOf(here).map(n => {
        const l = n.links[0];
        return {
          key: n.name,
          strong: nodeRemarks(n).length > 0,
          cells: [
            n.name,
            n.missing
              ? away(here)
              : !l
                ? ""
                : n.links.length > 1
                  ? plural(n.links.length, "link")
                  : otherEnd(here, l, n).name,
            l?.us,
            l?.MBps,
            l?.backMBps,
          ],
        };
      }),
  },
  links: {
    title: "Links",
    head: ["link", "us", "\u00b1", "MB/s", "back", "sure %"],
    rows: () =>
      here.links.map(l => ({
        key: l.key,
        strong: isStrong(l),
        cells: [
          `${here.nodes[l.a].name} - ${here.nodes[l.b].name}`,
          l.us,
          l.se,
          l.MBps,
          l.backMBps,
          l.p === undefined ? undefined : Math.floor(100 * l.p),
        ],
      })),
  },
};
if (maps.length < 2) delete tables.differences;
if (here.history)
  tables.changes = {
    title: "Changes",
    head: ["since", "what"],
    rows: () =>
      here.history.events
        .filter(e => e.day <= state.day)
        .reverse()
        .map(e => ({
          key: e.a === undefined ? "" : here.nodes[e.a].name,
          strong: e.kind === "worse" && here.findings.some(f => f.text === e.text),
          cells: [e.day, e.text],
        })),
  };
const made = {}; /* rows, in the order chosen */
let from = 0,
  sorted = null;
function rowsOf(tab) {
  return (made[tab] ??= tables[tab].rows());
}

function showTab(tab, focus = false) {
  if (state.tab !== tab) {
    from = 0;
    sorted = null;
    delete made[tab];
  }
  state.tab = tab;
  for (const b of $("tabs").children) {
    const on = b.dataset.tab === tab;
    b.setAttribute("aria-selected", on);
    b.tabIndex = on ? 0 : -1;
    if (on && focus) b.focus();
  }
  $("panel").setAttribute("aria-labelledby", `tab-${tab}`);
  paintTable();
}
function paintTable() {
  const about = tables[state.tab],
    rows = rowsOf(state.tab),
    panel = $("panel");
  panel.replaceChildren();
  if (!rows.length) {
    panel.append(
      el("p", {
        textContent:
          about.none ??
          (state.tab === "findings"
            ? here.judged
              ? "None: no part is worse than its like."
              : "Links were not held against each other."
            : "None."),
      }),
    );
    return;
  }
  const head = about.head.map((text, k) => {
    const b = el("button", { type: "button", textContent: text }),
      th = el("th", { scope: "col" }, b);
    if (sorted?.k === k) th.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
    b.onclick = () => {
      sortBy(k);
      $("panel").querySelectorAll("thead button")[k].focus();
    };
    return th;
  });
  const body = rows.slice(from, from + PAGE).map(row => {
    const b = el("button", { type: "button", textContent: row.cells[0], tabIndex: -1 });
    const tr = el(
      "tr",
      { className: row.strong ? "strong" : "" },
      el("td", {}, b),
      ...row.cells.slice(1).map(c => el("td", { textContent: typeof c === "string" ? c : cell(c) })),
    );
    tr.dataset.key = row.key;
    return tr;
  });
  if (body.length) body[0].querySelector("button").tabIndex = 0;
  panel.append(
    el(
      "table",
      {},
      el("caption", {
        textContent:
          about.title.toLowerCase() + (maps.length > 1 && /hosts|links/.test(state.tab) ? " of the map" : ""),
      }),
      el("thead", {}, el("tr", {}, ...head)),
      el("tbody", {}, ...body),
    ),
  );
  if (rows.length > PAGE) {
    const go = (text, to) =>
      el("button", {
        type: "button",
        textContent: text,
        disabled: to < 0 || to >= rows.length,
        onclick: () => {
          from = to;
          paintTable();
          panel.scrollTop = 0;
        },
      });
    panel.append(
      el(
        "div",
        { className: "more" },
        go("Before", from - PAGE),
        `${from + 1} to ${Math.min(from + PAGE, rows.length)} of ${rows.length}`,
        go("After", from + PAGE),
      ),
    );
  }
  markPicked();
}
function sortBy(k) {
  sorted = { k, down: sorted?.k === k && !sorted.down };
  const sign = sorted.down ? -1 : 1;
  rowsOf(state.tab).sort((a, b) => {
    const [x, y] = [a.cells[k], b.cells[k]];
    return (
      sign *
      (typeof x === "string"
        ? x.localeCompare(y, "en", { numeric: true })
        : (x ?? Infinity) - (y ?? Infinity))
    );
  });
  from = 0;
  paintTable();
}
/* The row of what was selected, where the table has it. */
function showRow(key) {
  const at = rowsOf(state.tab).findIndex(r => r.key === key);
  if (at < 0) return;
  if (at < from || at >= from + PAGE) {
    from = at - (at % PAGE);
    paintTable();
  }
  $("panel").querySelector("tr.picked")?.scrollIntoView({ block: "nearest" });
}

/* ---- legend and head ------------------------------------------------------------------------*/

function paintLegend() {
  const sign = (inside, text, cls = "") =>
    `<span class="${cls}"><svg aria-hidden="true" width="26" height="16">${inside}</svg>${text}</span>`;
  const links = maps.flatMap(m => m.links),
    parts = [],
    nodes = maps.flatMap(m => m.nodes);
  const line = (w, more = "") => `<path class="link" style="stroke-width:${w};${more}" d="M 1 8 H 25"/>`;
  if (nodes.some(n => n.switch))
    parts.push(
      sign(`<g class="switch"><rect class="mark" x="9" y="1" width="9" height="14" rx="3"/></g>`, "switch"),
    );
  parts.push(sign(`<g class="host"><circle class="mark" cx="13" cy="8" r="5"/></g>`, "host"));
  if (panes.some(p => p.items.some(it => it.group)))
    parts.push(
      sign(
        `<g class="host">${[8, 4, 0].map(d => `<circle class="mark" cx="${7 + d}" cy="8" r="5"/>`).join("")}</g>`,
        "several that are alike",
      ),
    );
  if (nodes.some(n => n.missing))
    parts.push(sign(`<g class="missing"><circle class="mark" cx="13" cy="8" r="5"/></g>`, away(here)));
  if (thickest > 0)
    parts.push(
      sign(line(scale), `${round(thickest)} MB/s`),
      sign(line(scale * 0.3), `${round(thickest * 0.3)} MB/s`),
    );
  if (links.some(l => l.p < 0.99)) parts.push(sign(line(3, "opacity:.45"), "not sure to be there"));
  if (links.some(isStrong) || nodes.some(isStrong))
    parts.push(
      sign(
        `<g class="strong">${line(3)}</g>`,
        [
          links.concat(nodes).some(x => x.findings.length || x.suspect) && "finding",
          maps.length > 1 && "difference",
        ]
          .filter(x => x)
          .join(" or "),
        "strong",
      ),
    );
  if (state.by !== "findings")
    parts.push(
      `<span>${figures[state.by].name}: ${round(range[0])}<span id="bar" aria-hidden="true"></span>${round(range[1])} ${figures[state.by].unit}</span>`,
    );
  $("legend").innerHTML = parts.join("");
}

function countRowsOfTabs() {
  for (const b of $("tabs").children)
    b.textContent = `${tables[b.dataset.tab].title} (${rowsOf(b.dataset.tab).length})`;
}

function fillHead() {
  $("what").textContent = here.what;
  const warnings = [...here.warnings];
  if (here.moreWarnings) warnings.push(`${here.moreWarnings} more warnings`);
  $("warnings").hidden = !warnings.length;
  $("warnings").replaceChildren(...warnings.map(w => el("li", { textContent: w })));
  $("job").textContent = [here.job, here.populations, here.hint, maps[1] && here.summary]
    .filter(x => x)
    .join(" \u2014 ");
  document.title = `nettopo: ${here.what}`;
  const option = (value, textContent) => el("option", { value, textContent });
  if (here.isTree) $("layout").append(option("tree", "tree"), option("radial", "radial"));
  if (here.nodes.some(n => n.flat)) $("layout").append(option("stress", "by latency"));
  if (here.nodes.some(n => n.solid)) $("layout").append(option("stress-3d", "by latency, 3-D"));
  if (!here.isTree) $("layout").append(option("circle", "circle"));
  $("by").append(option("findings", "findings only"));
  for (const [key, f] of Object.entries(figures))
    if (here.links.some(l => f.of(l) !== undefined)) $("by").append(option(key, f.name));
  $("names").append(...(here.nodes.length > 2000 ? [] : here.nodes).map(n => option(n.name, "")));
  for (const [tab, about] of Object.entries(tables)) {
    const b = el("button", {
      type: "button",
      role: "tab",
      id: `tab-${tab}`,
    });
    b.dataset.tab = tab;
    b.setAttribute("aria-controls", "panel");
    $("tabs").append(b);
  }
  countRowsOfTabs();
  startDays();
  state.layout = $("layout").options[0].value;
  state.tab =
    maps.length > 1 && rowsOf("differences").length
      ? "differences"
      : rowsOf("findings").length
        ? "findings"
        : "hosts";
}

/* ---- the address: page.html#find=n7&by=bandwidth&layout=radial ----------------------------------*/

let standard = {};
function keepAddress() {
  const words = [];
  for (const [key, value] of [
    ["find", state.select],
    ["layout", state.layout],
    ["by", state.by],
    ["tab", state.tab],
    ["theme", state.theme],
    ["day", state.day],
  ])
    if (value && value !== standard[key]) words.push(`${key}=${encodeURIComponent(value)}`);
  if (state.all) words.push("all");
  if (state.toggled.size) words.push("turned=" + [...state.toggled].map(encodeURIComponent).join(","));
  const hash = words.length ? "#" + words.join("&") : "";
  if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname + location.search);
}
function readAddress() {
  Object.assign(state, {
    select: "",
    layout: standard.layout,
    by: "findings",
    tab: standard.tab,
    theme: "",
    day: standard.day,
    all: false,
    toggled: new Set(),
  });
  let find = "";
  for (const word of location.hash.slice(1).split("&")) {
    const at = word.indexOf("="),
      key = at < 0 ? word : word.slice(0, at),
      raw = at < 0 ? "" : word.slice(at + 1);
    let value = raw;
    try {
      value = decodeURIComponent(raw);
    } catch {
      continue;
    }
    if (key === "layout" && [...$("layout").options].some(o => o.value === value)) state.layout = value;
    if (key === "by" && [...$("by").options].some(o => o.value === value)) state.by = value;
    if (key === "tab" && tables[value]) state.tab = value;
    if (key === "theme" && (value === "dark" || value === "light")) state.theme = value;
    if (key === "day" && here.history && /^\d{4}-\d\d-\d\d$/.test(value)) state.day = value;
    if (key === "all") state.all = true;
    if (key === "turned") state.toggled = new Set(value.split(",").slice(0, 10000));
    if (key === "find") find = value;
  }
  $("layout").value = state.layout;
  $("by").value = state.by;
  $("all").setAttribute("aria-pressed", state.all);
  from = 0;
  if (here.history) showDay(state.day);
  else paint();
  showTab(state.tab);
  if (find) select(find);
}
