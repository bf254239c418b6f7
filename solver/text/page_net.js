/* SPDX-License-Identifier: Apache-2.0 */
/* The page's networks, the user's choices, and the parts of a network that are rows of the picture:
 * similar hosts and switches share one when there are many. Draws nothing. */
"use strict";
window.addEventListener("error", e => {
  document.body.dataset.error = e.message;
});
const $ = id => document.getElementById(id);
const { maps, look } = JSON.parse($("data").textContent);
const ROWS = 48; /* of a picture in which nothing is folded */

/* all that the address keeps */
const state = {
  layout: "",
  by: "findings",
  select: "",
  tab: "",
  theme: "",
  day: "",
  all: false,
  toggled: new Set(),
};

const round = x => (Number.isFinite(x) ? +x.toPrecision(4) + "" : "not measured");
const plural = (n, one, many) => `${n} ${n === 1 ? one : (many ?? one + "s")}`;
const least = l => Math.min(l.MBps ?? Infinity, l.backMBps ?? Infinity);
const finite = list => list.filter(Number.isFinite).sort((a, b) => a - b);
const middle = list => {
  const known = finite(list);
  return known[known.length >> 1];
};

/* The figures that can colour a link, each with its unit and name. */
const figures = {
  latency: { of: l => l.us, unit: "us", name: "latency" },
  bandwidth: { of: l => (Number.isFinite(least(l)) ? least(l) : undefined), unit: "MB/s", name: "bandwidth" },
  load: { of: l => l.load, unit: maps[0].loadUnit, name: `load of ${maps[0].pattern}` },
  support: { of: l => l.p, unit: "", name: "how sure it is" },
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
  map.notedRows = undefined;
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

/* The part of a tree that is open until the user changes it: the most that fits into ROWS. Switches
 * more than `deep` steps from the top are closed, similar hosts or switches share a row. */
function standardWay(map) {
  const ways = [{ map, deep: map.ranks, hosts: false, switches: false }];
  for (const switches of [false, true])
    for (let deep = map.ranks; deep > 0; deep--) ways.push({ map, deep, hosts: true, switches });
  return ways.find(way => countRows(way) <= ROWS) ?? ways.at(-1);
}
const depthOf = n => {
  let d = 1;
  for (let v = n; v.parent; v = v.parent) d++;
  return d;
};
function isOpen(way, n) {
  const open = state.all || n.noted || depthOf(n) <= way.deep;
  return open !== state.toggled.has(n.name);
}
const groupOpen = (way, key, folded) => (state.all || !folded) !== state.toggled.has(key);

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
function countRows(way) {
  let rows = 0;
  const count = n => {
    if (rows > 4 * ROWS) return;
    if (!n.kids.length || !isOpen(way, n)) rows++;
    else rowsBelow(way, n).forEach(r => (r.group ? rows++ : count(r.nodes[0])));
  };
  way.map.tops.forEach(count);
  return rows - noted(way.map);
}
const noted = map => (map.notedRows ??= map.nodes.filter(n => !n.switch && n.own).length);

/* Opens all switches and groups that hide a host or switch. */
function reveal(map, n) {
  if (!map.isTree) {
    if (n.parent && !state.all) state.toggled.add(n.parent.name);
    return;
  }
  const above = [];
  for (let v = n.parent; v; v = v.parent) above.unshift(v);
  for (const v of above) {
    if (!isOpen(map.way, v)) toggle(v.name);
    const next = above[above.indexOf(v) + 1] ?? n;
    const row = rowsBelow(map.way, v).find(r => r.group && r.nodes.includes(next));
    if (row) toggle(row.key);
  }
}
function toggle(key) {
  if (!state.toggled.delete(key)) state.toggled.add(key);
}

/* ---- words ----------------------------------------------------------------------------------*/

const away = map => (map.history ? "not measured by then" : "did not answer");
const sure = x => (x.opacity === undefined ? "" : `${Math.floor(100 * x.p)} % sure`);
function linkWords(l) {
  const words = [`latency ${round(l.us)} us` + (l.se === undefined ? "" : ` \u00b1 ${round(l.se)}`)];
  if (l.MBps !== undefined || l.backMBps !== undefined)
    words.push(
      `bandwidth ${l.atLeast ? "at least " : ""}${round(l.MBps)} MB/s, back ${round(l.backMBps)} MB/s`,
    );
  if (l.load !== undefined) words.push(`${figures.load.name}: ${round(l.load)} ${maps[0].loadUnit}`);
  if (l.simplex) words.push("one direction only");
  if (sure(l)) words.push(sure(l));
  return words;
}
const remarks = x => [...x.findings, ...x.differs].map(f => f.text);
function nodeWords(map, n) {
  const words = [`${n.switch ? "switch" : "host"} ${n.name}` + (n.switch ? `, tier ${n.tier}` : "")];
  if (n.kids.length) words.push(`${plural(n.hosts, "host")} below it`);
  if (n.missing) words.push(away(map));
  if (sure(n)) words.push(sure(n));
  if (n.over) words.push(`overhead ${round(n.over)} us`);
  if (n.ratio > 1.1)
    words.push(`${round(n.ratio)}:1 oversubscribed: what its hosts ask for over what its uplinks carry`);
  if (n.up && map.isTree) words.push(`link to ${n.parent.name}: ` + linkWords(n.up).join(", "));
  else
    words.push(
      ...n.links
        .filter(l => !l.up)
        .slice(0, 6)
        .map(
          l =>
            `to ${otherEnd(map, l, n).name}: ${round(l.us)} us` +
            (l.MBps === undefined ? "" : `, ${round(l.MBps)} MB/s`),
        ),
    );
  return words;
}
const nodeRemarks = n => [...new Set([...remarks(n), ...(n.up ? remarks(n.up) : [])])];
function groupWords({ nodes }) {
  const one = nodes[0],
    range = of => (of.length ? `${round(of[0])} to ${round(of.at(-1))}` : ""),
    us = range(finite(nodes.map(n => n.up.us))),
    rates = range(finite(nodes.map(n => least(n.up)))),
    words = [
      `${nodes.length} ${one.switch ? "switches" : "hosts"} that are alike, ${one.name} to ${nodes.at(-1).name}`,
    ];
  if (us) words.push(`latency ${us} us`);
  if (rates) words.push(`bandwidth ${rates} MB/s`);
  return words;
}

function hangUp(map) {
  joinUp(map);
  map.way = standardWay(map);
}

/* ---- a map of many days ---------------------------------------------------------------------*/

/* The state on a day: the places of hosts, and the findings. */
function turnTo(map, day) {
  const { events, seen } = map.history;
  const inForce = new Map(); /* by series, the last */
  map.linksNow ??= map.links.map(l => ({ a: l.a, b: l.b }));
  map.links.forEach((l, k) => Object.assign(l, map.linksNow[k]));
  for (const e of [...events].reverse()) {
    const l = e.kind === "moved" && e.day > day && e.was !== undefined && map.links.find(x => x.a === e.a);
    if (l) l.b = e.was;
  }
  for (const e of events) if (e.kind !== "moved" && e.day <= day) inForce.set(e.series, e);
  map.findings = [...inForce.values()]
    .filter(e => e.kind === "worse")
    .map(e => ({ a: e.a, b: e.b, text: e.text }));
  map.nodes.forEach((n, i) => (n.missing = !n.switch && !(seen[i] && seen[i] <= day)));
  map.judged = true;
  hangUp(map);
}

maps.filter(m => m.history).forEach(m => turnTo(m, (state.day = m.history.last)));
maps.filter(m => !m.history).forEach(hangUp);
