/* SPDX-License-Identifier: Apache-2.0 */
/* The parts around the pictures: selection, tables, legend, the day, the address; then pointer, keyboard and
 * buttons, and the start of the page, when all is defined. */
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
    room = Math.max(300, view.clientWidth - 18),
    tall = heightFor(pane),
    size = `${room} ${tall}`;
  const held = svg.contains(document.activeElement) ? pane.focus : null;
  if (map.isTree && map.wayFor !== size) standardWay(map, m => layRows(m).height + 30, tall);
  map.wayFor = size;
  svg.innerHTML =
    map.isTree && !state.layout.startsWith("stress") ? drawTree(pane, room, tall) : drawNet(pane, room, tall);
  view.classList.toggle("solid", state.layout === "stress-3d");
  const box = pane.box ?? drawnBox(svg);
  pane.size = box.slice(2);
  svg.setAttribute("viewBox", box.join(" "));
  if (!pane.byHand) fitPane(pane);
  scalePane(pane);
  pane.byKey = new Map([...svg.querySelectorAll("[data-key][role]")].map(g => [g.dataset.key, g]));
  if (!pane.byKey.has(pane.focus)) pane.focus = pane.items[0]?.key ?? "";
  pane.byKey.get(pane.focus)?.setAttribute("tabindex", "0");
  if (held !== null) pane.byKey.get(pane.focus)?.focus({ preventScroll: true });
}
const heightFor = ({ view }) => (isPhone() ? Math.round(0.75 * innerHeight) : view.clientHeight - 4);
/* Twice as large at the most. A tree that is higher than the window is as wide as that; the others are seen
 * whole, if they can be read. */
function fitPane(pane) {
  const across = (pane.view.clientWidth - 18) / pane.size[0],
    whole = Math.min(ZOOM_MOST, across, heightFor(pane) / pane.size[1]);
  pane.zoom =
    state.layout === "tree"
      ? Math.max(whole, Math.min(1, across))
      : isPhone()
        ? across
        : Math.max(pane.crowded ? 0.2 : state.layout === "radial" ? 0.6 : 0.7, whole);
}
function scalePane(pane) {
  const whole = pane.size.map(v => Math.round(v * pane.zoom)),
    drawn = Math.min(...whole.map((v, k) => v / pane.size[k]));
  pane.svg.setAttribute("width", whole[0]);
  pane.svg.setAttribute("height", whole[1]);
  pane.svg.style.setProperty("--bad", `${look.bad / drawn}px`);
}
function paint() {
  document.documentElement.toggleAttribute(
    "data-dark",
    !matchMedia("print").matches &&
      (state.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark",
  );
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
  if (l) return [[`link ${linkName(map, l)}`, ...linkWords(l)], remarks(l)];
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

const told = f => {
  const at = f.at ?? maps[1]?.differences.find(d => d.k === f.k)?.at; /* only one of the two may have it */
  return { key: at ? (at.key ?? at.name) : "", strong: true, cells: [f.text.replaceAll(" %", "\u00a0%")] };
};
/* The suspect links of a map without findings, such as one of another program. */
const suspects = () =>
  here.links
    .filter(l => l.suspect && !l.findings.length && !here.judged)
    .map(l => ({
      key: l.key,
      strong: true,
      cells: [`link ${linkName(here, l)} is worse than comparable links`],
    }));
const whereIs = n =>
  n.links.length > 1 ? `${n.links.length}` : n.links.map(l => otherEnd(here, l, n).name).join();
const tables = {
  findings: {
    title: "Findings",
    rows: () => [...here.findings.map(told), ...suspects()],
  },
  differences: {
    title: "Differences",
    rows: () => here.differences.map(told),
  },
  hosts: {
    title: "Hosts",
    head: ["host", here.nodes.some(n => n.switch) ? "switch" : "links", "us", "MB/s", "back"],
    rows: () =>
      here.nodes
        .filter(n => !n.switch)
        .map(n => ({
          key: n.name,
          strong: nodeRemarks(n).length > 0,
          cells: [
            n.name,
            n.missing ? away(here) : whereIs(n),
            ...["us", "MBps", "backMBps"].map(f => n.links[0]?.[f]),
          ],
        })),
  },
  links: {
    title: "Links",
    head: ["link", "us", "\u00b1", "MB/s", "back", "probability %"],
    rows: () =>
      here.links.map(l => ({
        key: l.key,
        strong: isStrong(l),
        cells: [linkName(here, l), l.us, l.se, l.MBps, l.backMBps, l.p],
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
  if (!rows.length) {
    const judged = here.judged ? "No part is degraded." : "Links were not compared with each other.";
    panel.replaceChildren(el("p", { textContent: state.tab === "findings" ? judged : "None." }));
    return;
  }
  const order = sorted?.down ? "descending" : "ascending",
    head = (about.head ?? []).map(
      (text, k) =>
        `<th scope="col"${sorted?.k === k ? ` aria-sort="${order}"` : ""}><button type="button">${escape(text)}</button></th>`,
    );
  const body = rows.slice(from, from + PAGE).map(({ key, strong, cells: [first, ...more] }, k) => {
    const cells = more.map(c => `<td>${escape(c ?? "")}</td>`);
    return `<tr class="${strong ? "strong" : ""}" data-key="${escape(key)}"><td><button type="button" tabindex="${k ? -1 : 0}">${escape(first)}</button></td>${cells.join("")}</tr>`;
  });
  const of = maps.length > 1 && /hosts|links/.test(state.tab) ? " of the map" : "",
    thead = head.length ? `<thead><tr>${head.join("")}</tr></thead>` : "";
  panel.innerHTML = `<table aria-label="${about.title}${of}">${thead}<tbody>${body.join("")}</tbody></table>`;
  panel.querySelectorAll("thead button").forEach((b, k) => {
    b.onclick = () => {
      sortBy(k);
      panel.querySelectorAll("thead button")[k].focus();
    };
  });
  if (rows.length > PAGE) {
    const turn = to => {
      from = to;
      paintTable();
      panel.scrollTop = 0;
    };
    const go = (textContent, to) =>
      el("button", {
        type: "button",
        textContent,
        disabled: to < 0 || to >= rows.length,
        onclick: () => turn(to),
      });
    const shown = `${from + 1} to ${Math.min(from + PAGE, rows.length)} of ${rows.length}`;
    panel.append(
      el("div", { className: "more" }, go("Before", from - PAGE), shown, go("After", from + PAGE)),
    );
  }
  markPicked();
}
function sortBy(k) {
  sorted = { k, down: sorted?.k === k && !sorted.down };
  const sign = sorted.down ? -1 : 1,
    order = x => num(x) ?? Number.MAX_VALUE;
  rowsOf(state.tab).sort(({ cells: { [k]: x } }, { cells: { [k]: y } }) =>
    Number.isNaN(order(x) + order(y))
      ? sign * x.localeCompare(y, "en", { numeric: true })
      : sign * (order(x) - order(y)),
  );
  from = 0;
  paintTable();
}
/* The row of the selected part, if the table has it. */
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
  const links = maps.flatMap(m => m.links),
    nodes = maps.flatMap(m => m.nodes),
    strong = links.concat(nodes).filter(isStrong);
  const line = (w, more = "") => `<path class="link" style="--px:${w}px;${more}" d="M 1 8 H 25"/>`,
    why = [
      strong.some(x => x.findings.length || x.suspect) && "finding",
      maps.length > 1 && "difference",
    ].filter(x => x);
  const signs = [
    [nodes.some(n => n.switch), "switch", bar(9, 1, 9, 14), "switch"],
    [true, "host", disc(13, 8, 5), "host"],
    [
      panes.some(p => p.items.some(it => it.group)),
      "host",
      [8, 4, 0].map(d => disc(7 + d, 8, 5)).join(""),
      "several similar ones",
    ],
    [
      state.layout === "grid" && links.some(l => l.end),
      "host",
      '<path class="link" style="--px:1px" d="M 13 8 h 11"/>' + disc(10, 8, 4),
      "around an edge or to another plane",
    ],
    [nodes.some(n => n.missing), "missing", disc(13, 8, 5), away(here)],
    ...look.strokes.map(({ px, text }) => [true, "", line(px), text]),
    [
      links.some(l => l.simplex),
      "",
      line(3) + wayOf({ simplex: true }, 13, false, ' transform="translate(0 8)"'),
      "one direction only",
    ],
    [links.some(unsure), "", line(3, "opacity:.45"), "support below 90 %"],
    [
      links.some(l => /\u2265/.test(least(l))),
      "",
      '<text class="small" x="8" y="13">\u2265</text>',
      "at least",
    ],
    [strong.length, "strong", line(3), why.join(" or ")],
  ];
  const parts = signs
    .filter(([shown]) => shown)
    .map(
      ([, kind, sign, text]) =>
        `<span class="${kind === "strong" ? kind : ""}"><svg aria-hidden="true" width="26" height="16"><g class="${kind}">${sign}</g></svg>${text}</span>`,
    );
  if (state.by !== "findings")
    parts.push(
      `<span>${figures[state.by].name}: ${look[state.by].low}<span id="bar" aria-hidden="true"></span>${look[state.by].high} ${figures[state.by].unit}</span>`,
    );
  $("legend").innerHTML = parts.join("");
}

function countRowsOfTabs() {
  for (const b of $("tabs").children)
    b.textContent = `${tables[b.dataset.tab].title} (${rowsOf(b.dataset.tab).length})`;
}

function fillHead() {
  $("what").textContent = here.what;
  const warnings = here.warnings.filter(w => !here.findings.some(f => f.text === w));
  if (here.moreWarnings) warnings.push(`${here.moreWarnings} more warnings`);
  document.body.classList.toggle(
    "noted",
    here.findings.length + here.differences.length + suspects().length > 0,
  );
  $("warnings").hidden = !warnings.length;
  $("warnings").replaceChildren(...warnings.map(w => el("li", { textContent: w })));
  $("job").textContent = [here.job, here.populations, here.hint, maps[1] && here.summary]
    .filter(x => x)
    .join(" \u2014 ");
  document.title = `nettopo: ${here.what}`;
  const option = (value, textContent) => el("option", { value, textContent });
  if (here.isTree) $("layout").append(option("tree", "tree"), option("radial", "radial"));
  if (here.grid) $("layout").append(option("grid", "grid"));
  else if (here.nodes.some(n => n.flat)) $("layout").append(option("stress", "by latency"));
  if (here.nodes.some(n => n.solid)) $("layout").append(option("stress-3d", "by latency, 3-D"));
  if (!here.isTree) $("layout").append(option("circle", "circle"));
  $("by").append(option("findings", "findings only"));
  for (const [key, f] of Object.entries(figures)) if (look[key].known) $("by").append(option(key, f.name));
  $("names").append(...(here.nodes.length > 2000 ? [] : here.nodes).map(n => option(n.name, "")));
  $("tabs").innerHTML = Object.keys(tables)
    .map(
      tab =>
        `<button type="button" role="tab" id="tab-${tab}" data-tab="${tab}" aria-controls="panel"></button>`,
    )
    .join("");
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

/* ---- the day of a map that is of many -------------------------------------------------------*/

const DAY_MS = 86400000;
const dayOf = (first, k) => new Date(Date.parse(first) + k * DAY_MS).toISOString().slice(0, 10);
const daysTo = (first, day) => Math.round((Date.parse(day) - Date.parse(first)) / DAY_MS);

function showDay(day) {
  const { first, last } = here.history;
  state.day = day < first ? first : day > last ? last : day;
  $("day").value = daysTo(first, state.day);
  $("day").setAttribute("aria-valuetext", state.day);
  $("date").textContent = state.day;
  turnTo(here, state.day);
  for (const tab of Object.keys(made)) delete made[tab];
  sorted = null;
  countRowsOfTabs();
  paint();
  if (state.tab) paintTable();
}

function startDays() {
  if (!here.history) return $("time").remove();
  const { first, last } = here.history;
  $("time").hidden = false;
  $("day").max = daysTo(first, last);
  $("day").oninput = () => showDay(dayOf(first, +$("day").value));
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
  if (state.toggled.size)
    words.push(
      "turned=" +
        [...state.toggled].map(([key, open]) => (open ? "" : "!") + encodeURIComponent(key)).join(","),
    );
  const hash = words.length ? "#" + words.join("&") : "";
  if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname + location.search);
}
function readAddress() {
  Object.assign(state, standard, { select: "" });
  const accepts = {
    layout: value => [...$("layout").options].some(o => o.value === value),
    by: value => [...$("by").options].some(o => o.value === value),
    tab: value => Object.hasOwn(tables, value),
    theme: value => value === "dark" || value === "light",
    day: value => here.history && /^\d{4}-\d\d-\d\d$/.test(value),
  };
  const words = new URLSearchParams(location.hash.slice(1));
  for (const [key, accept] of Object.entries(accepts))
    if (words.has(key) && accept(words.get(key))) state[key] = words.get(key);
  state.all = words.has("all");
  const turned = words.get("turned")?.split(",").slice(0, 10000) ?? [];
  state.toggled = new Map(turned.map(w => (w[0] === "!" ? [w.slice(1), false] : [w, true])));
  const find = words.get("find");
  $("layout").value = state.layout;
  $("by").value = state.by;
  $("all").setAttribute("aria-pressed", state.all);
  from = 0;
  if (here.history) showDay(state.day);
  else paint();
  showTab(state.tab);
  if (find) select(find);
}

/* ---- pointer, keyboard and buttons ----------------------------------------------------------*/

function showTip(map, key, x, y) {
  const words = key && wordsOfKey(map, key),
    tip = $("tip");
  tip.hidden = !words;
  if (!words) return;
  tip.replaceChildren(...words[1].flatMap(w => [el("b", { textContent: w }), "\n"]), words[0].join("\n"));
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = Math.max(4, y + 18 + box.height > innerHeight ? y - box.height - 14 : y + 18) + "px";
}
const hideTip = () => ($("tip").hidden = true);
const keyed = e => e.target.closest?.("[data-key]");
function fold(pane, key) {
  const n = pane.map.byName.get(key),
    it = pane.items.find(x => x.key === key);
  if (!it || !(it.group || n?.switch)) return;
  const open = pane.map.isTree ? it.open : fanOpen(pane.map, n);
  state.toggled.set(key, it.group || !open);
  paint();
}
function zoomBy(by) {
  for (const pane of panes) {
    pane.byHand = !!by;
    if (by) pane.zoom = Math.min(4, Math.max(0.1, pane.zoom * by));
    else fitPane(pane);
    scalePane(pane);
  }
}
function nextNote(by) {
  const notes = ["findings", "differences"].filter(tab => tables[tab]).flatMap(tab => rowsOf(tab)),
    keys = [...new Set(notes.map(r => r.key).filter(k => k))];
  const all = keys.length ? keys : here.nodes.map(n => n.name),
    at = all.indexOf(state.select);
  select(all[(at + by + all.length + (at < 0 && by < 0 ? 1 : 0)) % all.length]);
}

for (const pane of panes) {
  const { svg, view, map } = pane;
  let drag = null,
    moved = false;
  svg.addEventListener("click", e => {
    const g = keyed(e);
    if (moved || !g) return;
    const again = g.dataset.key === state.select || (map.isTree && g.classList.contains("group"));
    select(g.dataset.key, "picture");
    if (again) fold(pane, g.dataset.key);
  });
  svg.addEventListener("pointerover", e => showTip(map, keyed(e)?.dataset.key, e.clientX, e.clientY));
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("focusin", e => {
    const g = keyed(e),
      box = g?.getBoundingClientRect();
    if (g?.matches(":focus-visible"))
      showTip(map, g.dataset.key, box.left + Math.min(box.width, 120), box.bottom - 8);
  });
  svg.addEventListener("focusout", hideTip);
  svg.addEventListener("keydown", e => {
    const g = keyed(e),
      at = pane.items.findIndex(it => it.key === g?.dataset.key),
      it = pane.items[at],
      last = pane.items.length - 1;
    if (!it || e.ctrlKey || e.metaKey || e.altKey) return;
    const to = {
      ArrowDown: pane.items[Math.min(last, at + 1)],
      ArrowUp: pane.items[Math.max(0, at - 1)],
      Home: pane.items[0],
      End: pane.items[last],
      ArrowLeft: it.open ? null : it.parent,
      ArrowRight: it.open || !map.isTree ? pane.items[Math.min(last, at + 1)] : null,
    }[e.key];
    if (to) moveFocus(pane, to.key, true);
    else if (e.key === "Enter" || e.key === " ") {
      select(it.key, "picture");
      fold(pane, it.key);
    } else if (
      (e.key === "ArrowLeft" && it.open) ||
      (e.key === "ArrowRight" && (it.group || it.nodes[0].kids.length))
    )
      fold(pane, it.key);
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
  view.addEventListener(
    "wheel",
    e => {
      if (e.ctrlKey) {
        e.preventDefault();
        zoomBy(Math.exp(-e.deltaY / 400));
      }
    },
    { passive: false },
  );
  view.addEventListener("pointerdown", e => {
    drag = e.pointerType === "mouse" || state.layout === "stress-3d" ? [e.clientX, e.clientY] : null;
    moved = false;
  });
  addEventListener("pointerup", () => (drag = null));
  view.addEventListener("pointermove", e => {
    if (!drag) return;
    const dx = e.clientX - drag[0],
      dy = e.clientY - drag[1];
    if (Math.abs(dx) + Math.abs(dy) < 4 && !moved) return;
    moved = true;
    drag = [e.clientX, e.clientY];
    if (state.layout === "stress-3d") turnBy(dx / 150, dy / 150);
    else view.scrollBy(-dx, -dy);
  });
}
function turnBy(dx, dy) {
  turned.turn += dx;
  turned.tilt += dy;
  panes.forEach(paintPane);
  markPicked();
}

$("panel").addEventListener("click", e => {
  const tr = e.target.closest("tbody tr");
  if (tr?.dataset.key) select(tr.dataset.key, "table");
});
$("panel").addEventListener("keydown", e => {
  const tr = e.target.closest("tbody tr"),
    to = tr && { ArrowDown: tr.nextElementSibling, ArrowUp: tr.previousElementSibling }[e.key];
  if (!to) return;
  e.target.tabIndex = -1;
  const b = to.querySelector("button");
  b.tabIndex = 0;
  b.focus();
  e.preventDefault();
});
$("tabs").addEventListener("click", e => {
  const b = e.target.closest("[role=tab]");
  if (b) {
    showTab(b.dataset.tab);
    keepAddress();
  }
});
$("tabs").addEventListener("keydown", e => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key],
    all = Object.keys(tables);
  if (!by) return;
  showTab(all[(all.indexOf(state.tab) + by + all.length) % all.length], true);
  keepAddress();
  e.preventDefault();
});
document.addEventListener("keydown", e => {
  if (e.key === "Escape") {
    hideTip();
    if (e.target === $("find")) e.target.blur();
    else select("");
    return;
  }
  if (/^(INPUT|SELECT)$/.test(e.target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
  const keys = {
    "/": () => $("find").select(),
    "+": () => zoomBy(1.25),
    "=": () => zoomBy(1.25),
    "-": () => zoomBy(0.8),
    0: () => zoomBy(0),
    u: () => $("all").click(),
    n: () => nextNote(1),
    p: () => nextNote(-1),
    ",": () => turnBy(-0.15, 0),
    ".": () => turnBy(0.15, 0),
  };
  if (!keys[e.key]) return;
  e.preventDefault();
  keys[e.key]();
});
$("out").onclick = () => zoomBy(0.8);
$("in").onclick = () => zoomBy(1.25);
$("fit").onclick = () => zoomBy(0);
$("all").onclick = () => {
  state.all = !state.all;
  state.toggled.clear();
  $("all").setAttribute("aria-pressed", state.all);
  paint();
  for (const { svg } of panes)
    svg.querySelector("[role].picked, [role].strong")?.scrollIntoView({ block: "center", inline: "nearest" });
};
$("theme").onclick = () => {
  state.theme = document.documentElement.hasAttribute("data-dark") ? "light" : "dark";
  paint();
};
$("layout").onchange = () => {
  state.layout = $("layout").value;
  panes.forEach(p => (p.byHand = false));
  paint();
};
$("by").onchange = () => {
  state.by = $("by").value;
  paint();
};
const typed = () => $("find").value.trim();
/* at once when the text is a name */
$("find").oninput = () => maps.some(m => m.byName.has(typed())) && select(typed());
$("find").onchange = () => typed() !== state.select && select(typed());
addEventListener("hashchange", readAddress);
let later = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(later);
  later = requestAnimationFrame(paint);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
matchMedia("print").addEventListener("change", paint);

fillHead();
standard = { layout: state.layout, by: "findings", tab: state.tab, theme: "", day: state.day };
readAddress();
document.body.dataset.ready = "1";
