/* SPDX-License-Identifier: Apache-2.0 */
/* The page's networks, the user's choices, and the parts of a network that are rows of the picture:
 * similar hosts and switches share one when there are many. Draws nothing. */
"use strict";
window.addEventListener("error", e => {
  document.body.dataset.error = e.message;
});
const $ = id => document.getElementById(id);
const { maps, look } = JSON.parse($("data").textContent);
const ROWS = 48; /* of a network that is no tree, and in which nothing is folded */

/* On a phone the page scrolls, and not the picture in it. */
const isPhone = () => matchMedia("(max-width: 800px)").matches;

/* all that the address keeps */
const state = {
  layout: "",
  by: "findings",
  select: "",
  tab: "",
  theme: "",
  day: "",
  all: false,
  toggled: new Map() /* of a switch or a group: whether it is open */,
};

/* Values come as they are printed ("0.500", "\u226512500"): C has rounded them. Numbers only order and colour. */
const num = text => (text === undefined ? undefined : +text.replace(/^[^0-9.-]+/, ""));
const plural = (n, one, many) => `${n} ${n === 1 ? one : (many ?? one + "s")}`;
/* The narrower of both bandwidths. */
const least = l => (num(l.backMBps) < (num(l.MBps) ?? Infinity) ? l.backMBps : l.MBps);
/* The known values of a list in order, and the middle one. */
const known = list => list.filter(x => x !== undefined).sort((a, b) => num(a) - num(b));
const middle = list => known(list)[known(list).length >> 1];
const finite = list => list.filter(Number.isFinite).sort((a, b) => a - b);

/* The values that can colour a link, each with its unit and name. */
const figures = {
  latency: { of: l => l.us, unit: "us", name: "latency" },
  bandwidth: { of: least, unit: "MB/s", name: "bandwidth" },
  load: { of: l => l.load, unit: maps[0].loadUnit, name: `load of ${maps[0].pattern}` },
  probability: { of: l => l.p, unit: "%", name: "probability" },
};

const linkName = (map, l) => `${map.nodes[l.a].name} ${l.simplex ? "to" : "-"} ${map.nodes[l.b].name}`;
const otherEnd = (map, l, n) => map.nodes[l.a === n.i ? l.b : l.a];

/* Hangs everything that a switch reaches below it, breadth first; in that order. */
function hang(map, top, order) {
  top.seen = true;
  order.push(top);
  for (let k = order.length - 1; k < order.length; k++) {
    const v = order[k];
    for (const l of v.switch ? v.links : []) {
      const w = otherEnd(map, l, v);
      if (w.seen) continue;
      Object.assign(w, { seen: true, up: l, parent: v });
      v.kids.push(w);
      order.push(w);
    }
  }
}

/* A finding or a difference belongs to its link, or to its host or switch. */
function note(map, about, what) {
  const [a, b] = [map.nodes[about.a], map.nodes[about.b ?? about.a]];
  if (!a) return;
  const link = a !== b && a.links.find(l => otherEnd(map, l, a) === b);
  about.at = link || a;
  about.at[what].push(about);
}

function joinUp(map) {
  map.nodes.forEach((n, i) =>
    Object.assign(
      n,
      { i, links: [], kids: [], up: null, parent: null },
      { findings: [], differs: [], seen: false },
    ),
  );
  map.wayFor = undefined;
  map.links.forEach(l => {
    Object.assign(l, { findings: [], differs: [] });
    map.nodes[l.a].links.push(l);
    map.nodes[l.b].links.push(l);
  });
  map.byName = new Map(map.nodes.map(n => [n.name, n]));
  map.findings.forEach(f => note(map, f, "findings"));
  map.differences.forEach(d => note(map, d, "differs"));
  const order = [];
  map.tops = map.nodes
    .filter(n => n.switch)
    .sort((a, b) => b.tier - a.tier || a.i - b.i)
    .filter(n => !n.seen && (hang(map, n, order), true));
  map.loose = map.nodes.filter(n => !n.seen && !n.links.length);
  map.isTree =
    map.tops.length > 0 && map.links.every(l => map.nodes[l.a].up === l || map.nodes[l.b].up === l);
  map.links.forEach(l => {
    const [a, b] = [map.nodes[l.a], map.nodes[l.b]];
    l.key = !map.isTree ? `${a.name}~${b.name}` : a.up === l ? a.name : b.name;
  });
  for (const n of map.nodes) n.kids.sort((a, b) => !!a.switch - !!b.switch || a.i - b.i);
  map.nodes.forEach(n => {
    n.hosts = n.switch ? 0 : 1;
    n.own = isStrong(n) || (!!n.up && isStrong(n.up));
    n.noted = n.own;
    n.rank = n.switch ? Math.max(1, n.tier) : 0;
  });
  for (const n of order.reverse())
    if (n.parent) {
      n.parent.hosts += n.hosts;
      n.parent.noted ||= n.noted;
      n.parent.rank = Math.max(n.parent.rank, n.rank + 1);
    }
  map.ranks = Math.max(1, ...map.tops.map(n => n.rank)); /* columns */
}

const isStrong = x => x.findings.length > 0 || x.differs.length > 0 || !!x.suspect;

/* ---- folding --------------------------------------------------------------------------------*/

/* The part of a tree that is open until the user changes it: the most that is not higher than room.
 * Switches more than `deep` steps from the top are closed, similar hosts or switches share a row; then
 * rows beside findings are unfolded, then the others from the top, as long as there is room. */
function standardWay(map, heightOf, room) {
  const user = { all: state.all, toggled: state.toggled };
  Object.assign(state, { all: false, toggled: new Map() });
  const way = (deep, hosts, switches) => ({ deep, hosts, switches, opened: new Set() }),
    fits = w => ((map.way = w), heightOf(map) <= room);
  const ways = [way(map.ranks, false, false)];
  for (const switches of [false, true])
    for (let deep = map.ranks; deep > 0; deep--) ways.push(way(deep, true, switches));
  const best = ways.find(fits) ?? ways.at(-1),
    beside = ({ nodes: [n] }) => n.parent.kids.some(k => k.own),
    groups = layRows(map).items.filter(it => it.group);
  for (const { key } of [...groups.filter(beside), ...groups.filter(g => !beside(g))]) {
    best.opened.add(key);
    if (!fits(best)) best.opened.delete(key);
  }
  Object.assign(state, user);
}
const depthOf = n => {
  let d = 1;
  for (let v = n; v.parent; v = v.parent) d++;
  return d;
};
/* What the user has turned, or what is standard. */
const isOpen = (way, n) => state.toggled.get(n.name) ?? (state.all || n.noted || depthOf(n) <= way.deep);
const groupOpen = (way, key, folded) =>
  state.toggled.get(key) ?? (state.all || !folded || way.opened.has(key));

/* A row of one; the rows of an open switch, each of one child or of several similar ones. */
const rowOf = node => ({ nodes: [node], key: node.name });
function rowsBelow(way, n) {
  const rows = [],
    only = depthOf(n) > way.deep; /* open because of a finding in it: the rest is one row */
  for (const kind of ["hosts", "switches"]) {
    const kids = n.kids.filter(k => !!k.switch === (kind === "switches"));
    const alike = kids.filter(k => !k.noted && !(k.switch && isOpen(way, k)));
    const key = `${n.name}/${kind}`,
      fold = alike.length > 2 && !groupOpen(way, key, only || way[kind]);
    rows.push(...kids.filter(k => !fold || !alike.includes(k)).map(rowOf));
    if (fold) rows.push({ group: true, nodes: alike, key });
  }
  return rows;
}
/* Opens all switches and groups that hide a host or switch. */
function reveal(map, n) {
  if (!map.isTree) {
    if (n.parent && !fanOpen(map, n.parent)) state.toggled.set(n.parent.name, true);
    return;
  }
  const above = [];
  for (let v = n.parent; v; v = v.parent) above.unshift(v);
  for (const v of above) {
    if (!isOpen(map.way, v)) state.toggled.set(v.name, true);
    const next = above[above.indexOf(v) + 1] ?? n;
    const row = rowsBelow(map.way, v).find(r => r.group && r.nodes.includes(next));
    if (row) state.toggled.set(row.key, true);
  }
}

/* ---- words ----------------------------------------------------------------------------------*/

const away = map => (map.history ? "not measured by then" : "did not answer");
const unsure = x => x.opacity !== undefined;
const rateWords = l =>
  l.MBps === undefined && l.backMBps === undefined
    ? []
    : [`bandwidth ${l.MBps ?? "not measured"} MB/s, back ${l.backMBps ?? "not measured"} MB/s`];
function linkWords(l) {
  const words =
    l.us === undefined ? [] : [`latency ${l.us} us` + (l.se === undefined ? "" : ` \u00b1${l.se}`)];
  words.push(...rateWords(l));
  if (l.load !== undefined) words.push(`${figures.load.name}: ${l.load} ${maps[0].loadUnit}`);
  if (l.simplex) words.push("one direction only");
  if (unsure(l)) words.push(`probability ${l.p} %`);
  return words;
}
const remarks = x => [...x.findings, ...x.differs].map(f => f.text);
function nodeWords(map, n) {
  const words = [`${n.switch ? "switch" : "host"} ${n.name}` + (n.switch ? `, tier ${n.tier}` : "")];
  if (n.kids.length) words.push(`${plural(n.hosts, "host")} below it`);
  if (n.missing) words.push(away(map));
  if (unsure(n)) words.push(`support ${n.p} %`);
  if (n.over) words.push(`overhead ${n.over} us`);
  if (n.ratio) words.push(`oversubscribed ${n.ratio}, the bandwidth of its hosts to that of its uplinks`);
  if (n.up && map.isTree) words.push(`link to ${n.parent.name}: ` + linkWords(n.up).join(", "));
  else
    words.push(
      ...n.links
        .filter(l => !l.up)
        .slice(0, 6)
        .map(l => `to ${otherEnd(map, l, n).name}: ${linkWords(l).join(", ")}`),
    );
  return words;
}
const nodeRemarks = n => [...new Set([...remarks(n), ...(n.up ? remarks(n.up) : [])])];
/* Names as Slurm folds them: n[17-21,23-24]. */
function namesOf(nodes) {
  const parts = [];
  for (const { name } of nodes) {
    const [, word, digits] = name.match(/^(.*?)(\d*)$/),
      last = parts.at(-1);
    const next =
      last && last.word === word && digits !== "" && String(+last.to + 1).padStart(last.to.length, "0");
    if (next === digits) last.to = digits;
    else parts.push({ word, from: digits, to: digits });
  }
  const text = [];
  for (const { word, from, to } of parts) {
    const range = from === to ? from : `${from}-${to}`;
    if (text.at(-1)?.word === word && from !== "") text.at(-1).ranges.push(range);
    else text.push({ word, ranges: [range] });
  }
  return text
    .map(
      ({ word, ranges }) => word + (ranges.length > 1 || ranges[0].includes("-") ? `[${ranges}]` : ranges[0]),
    )
    .join(",");
}
function groupWords({ nodes }) {
  const range = (of, unit) => {
    const all = known(nodes.map(of));
    return all.length ? [`${all[0]} to ${all.at(-1)} ${unit}`] : [];
  };
  return [
    `${plural(nodes.length, nodes[0].switch ? "similar switch" : "similar host", nodes[0].switch ? "similar switches" : undefined)}: ${namesOf(nodes)}`,
    ...range(n => n.up.us, "us").map(r => `latency ${r}`),
    ...range(n => least(n.up), "MB/s").map(r => `bandwidth ${r}`),
  ];
}

/* ---- a map of many days ---------------------------------------------------------------------*/

/* The state on a day: the places of hosts, the findings and their latencies. */
function turnTo(map, day) {
  const { events, seen } = map.history;
  const inForce = new Map(); /* by series, the last */
  map.linksNow ??= map.links.map(({ a, b, us }) => ({ a, b, us }));
  map.links.forEach((l, k) => Object.assign(l, map.linksNow[k]));
  for (const e of [...events].reverse()) {
    const l = e.kind === "moved" && e.day > day && e.was !== undefined && map.links.find(x => x.a === e.a);
    if (l) l.b = e.was;
  }
  for (const e of events) if (e.kind !== "moved" && e.day <= day) inForce.set(e.series, e);
  const worse = [...inForce.values()].filter(e => e.kind === "worse");
  for (const e of worse.filter(e => e.us)) map.links.find(l => l.a === e.a).us = e.us;
  map.findings = worse.map(e => ({ a: e.a, b: e.b, text: e.text }));
  map.nodes.forEach((n, i) => (n.missing = !n.switch && !(seen[i] && seen[i] <= day)));
  map.judged = true;
  joinUp(map);
}

maps.filter(m => m.history).forEach(m => turnTo(m, (state.day = m.history.last)));
maps.filter(m => !m.history).forEach(joinUp);
