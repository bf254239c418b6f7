/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a network as SVG. A tree is one of bars and lines: a switch is a bar as high as what hangs on
 * it, a link a straight line of its own, a label stands beside what it names, so that nothing crosses
 * and nothing overlaps; radial is the same bent around the top. What is no tree stands as its
 * latencies say (stress majorisation, made with the page), or on a circle. */
const PITCH = 20,
  LONE = 36,
  GAP = 10,
  SIGN = 5;
const ink = document.createElement("canvas").getContext("2d");
const wide = (text, size = 13) => {
  ink.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
  return ink.measureText(text).width * 1.04;
};
const escape = s => s.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
const cut = (text, room, size) => {
  if (wide(text, size) <= room) return text;
  let keep = text.length - 1;
  while (keep > 1 && wide(text.slice(0, keep) + "\u2026", size) > room) keep--;
  return text.slice(0, keep) + "\u2026";
};

/* ---- figures to looks -----------------------------------------------------------------------*/

/* As thick as it is wide: in proportion to the widest of both networks. */
const thickest = Math.max(...maps.map(m => m.widest));
const widths = maps.flatMap(m => m.links.map(least)).filter(Number.isFinite);
const scale =
  middle(widths) > 0.7 * thickest && widths[0] > 0.5 * thickest ? 4 : maps.every(m => m.isTree) ? 10 : 6;
function thickness(l) {
  const w = least(l);
  return !Number.isFinite(w) || !thickest ? 2 : Math.max(1.2, (scale * w) / thickest);
}
/* A scale goes over a factor of two at least: noise of some per cent is no colour. */
function rangeOf(by) {
  const all = maps.flatMap(m => m.links.map(figures[by].of)).filter(Number.isFinite);
  let low = all.length ? all.reduce((a, b) => Math.min(a, b)) : 0,
    high = all.length ? all.reduce((a, b) => Math.max(a, b)) : 0;
  if (by === "support") return [Math.min(low, 0.5), 1];
  if (by === "load") low = 0;
  return [low, Math.max(high, 2 * low)];
}
let range = [0, 0];
function colour(value) {
  if (state.by === "findings" || !Number.isFinite(value)) return "";
  const share = range[1] > range[0] ? (value - range[0]) / (range[1] - range[0]) : 0;
  return `stroke:color-mix(in oklab, var(--high) ${Math.round(100 * share)}%, var(--low));`;
}
const pale = p => (p === undefined || p >= 0.99 ? "" : `opacity:${Math.max(0.45, p * p * p).toFixed(2)};`);
const isStrong = x => x.findings.length > 0 || x.differs.length > 0 || x.suspect;
function lookOf(links, thin = 1) {
  const value = middle(
    links.map(l => (state.by === "findings" ? 0 : figures[state.by].of(l))).filter(Number.isFinite),
  );
  return `stroke-width:${(thin * (middle(links.map(thickness)) ?? 2)).toFixed(1)};${colour(value)}${pale(middle(links.map(l => l.p ?? 1)))}`;
}

/* ---- a tree ---------------------------------------------------------------------------------*/

/* Rows from top to bottom: what is drawn, its step from the top, where it stands. */
function layRows(map) {
  const items = [];
  let y = 0,
    previous = "";
  const step = (height, kind) => {
    /* a row's middle; a lone switch needs room for two lines of words */
    if (previous && previous !== kind) y += GAP / 2;
    y += height;
    previous = kind;
    return y - height / 2;
  };
  const lay = (row, level, parent) => {
    const n = row.node,
      item = { ...row, level, parent, rank: n ? n.rank : row.group[0].rank };
    items.push(item);
    item.key = n ? n.name : row.key;
    item.open = !!n?.switch && n.kids.length > 0 && isOpen(map.way, n);
    if (!item.open) {
      const isSwitch = n ? n.switch : row.group[0].switch;
      item.y = item.y0 = item.y1 = step(isSwitch ? LONE : PITCH, isSwitch ? "s" : `h${parent?.key}`);
      return item;
    }
    const began = y,
      rows = rowsBelow(map.way, n);
    if (rows.length) previous = `h${item.key}`;
    if (began > 0) y += GAP;
    let kids = rows.map(r => lay(r, level + 1, item));
    const lacks = LONE - (kids.at(-1).y1 - kids[0].y0 + PITCH);
    if (lacks > 0) {
      /* one or two rows only */
      y += lacks;
      const moved = new Set([item]);
      for (const it of items)
        if (moved.has(it.parent)) {
          moved.add(it);
          for (const k of ["y", "y0", "y1"]) it[k] += lacks / 2;
        }
    }
    item.y0 = kids[0].y;
    item.y1 = kids.at(-1).y;
    item.y = (item.y0 + item.y1) / 2;
    y += GAP / 2;
    previous = "";
    return item;
  };
  for (const top of map.tops) {
    lay({ node: top }, 1, null);
    y += GAP;
    previous = "";
  }
  for (const node of map.loose) lay({ node }, 1, null);
  return { items, height: y };
}

const nameOf = it =>
  it.node
    ? it.node.name + (sure(it.node.p) && it.node.switch ? ` ${sure(it.node.p)}` : "")
    : `${it.group.length} ${it.group[0].switch ? "switches" : "hosts"}`;
function figuresOf(links, short) {
  const us = middle(links.map(l => l.us).filter(Number.isFinite)),
    MBps = middle(links.map(least).filter(Number.isFinite));
  const words = [
    us === undefined ? "" : `${+us.toPrecision(short ? 3 : 4)} us`,
    MBps === undefined ? "" : `${+MBps.toPrecision(3)} MB/s`,
  ];
  return words.filter(w => w);
}
function besides(it) {
  /* what stands behind a name */
  const each = it.group?.map(n => n.hosts);
  if (it.group)
    return it.group[0].switch
      ? [...new Set([Math.min(...each), Math.max(...each)])].join("\u2013") + " hosts each"
      : `${it.group[0].name} \u2013 ${it.group.at(-1).name}`;
  if (it.node.missing) return "did not answer";
  return it.node.switch && !it.open ? plural(it.node.hosts, "host") : "";
}
const linksOf = it => (it.node ? (it.node.up ? [it.node.up] : []) : it.group.map(n => n.up));

/* From the frame of a tree, x from the top and y across, to the picture. */
function frameOf(map, lay, room, radial) {
  const depths = map.ranks,
    ends = lay.items.filter(it => !it.open);
  const names = Math.min(260, Math.max(60, ...ends.map(it => wide(nameOf(it)))));
  const extra = Math.min(200, Math.max(0, ...ends.map(it => wide(besides(it), 11))));
  const tops = Math.max(0, ...map.tops.map(n => wide(n.name)));
  let cells = radial
    ? []
    : [0, 1].map(k => Math.max(0, ...ends.map(it => wide(figuresOf(linksOf(it))[k] ?? "", 11))));
  const behind = () => names + (extra && extra + 10) + cells.reduce((s, w) => s + (w && w + 14), 0) + 24;
  while (cells.length && (room - behind() - 40) / depths < 80) cells = cells.slice(0, -1);
  const right = behind();
  if (!radial) {
    const column = Math.max(64, Math.min(190, (room - right - 40) / depths));
    return {
      column,
      right,
      names,
      extra,
      cells,
      depths,
      x: rank => 24 + (depths - rank) * column,
      width: 24 + depths * column + right,
      height: lay.height + 34,
      dy: 26,
      tops,
    };
  }
  const inner = Math.max(54, tops / 2 + 16),
    crowd = Array(depths + 1).fill(0);
  lay.items.forEach(it => crowd[it.rank]++);
  let column = Math.max(70, (room / 2 - right - inner) / depths);
  for (let t = 0; t < depths; t++)
    column = Math.max(column, (((t ? 30 : 0) * crowd[t]) / 2 / Math.PI - inner) / (depths - t));
  column = Math.max(column, (lay.height + PITCH) / 2 / Math.PI / depths - inner / depths);
  const size = 2 * (inner + depths * column + right);
  return {
    radial,
    column,
    right,
    names,
    extra,
    cells: [],
    depths,
    tops,
    inner,
    around: lay.height + GAP,
    width: size,
    height: size,
    x: rank => inner + (depths - rank) * column,
  };
}
const polar = (f, r, y) => {
  const t = (2 * Math.PI * y) / f.around - Math.PI / 2;
  return [f.width / 2 + r * Math.cos(t), f.height / 2 + r * Math.sin(t)].map(v => v.toFixed(1));
};

function barPath(f, it) {
  const x = f.x(it.rank),
    y0 = it.y0 - SIGN - 2,
    y1 = it.y1 + SIGN + 2;
  if (!f.radial)
    return `<rect class="mark" style="${pale(it.node.p)}" x="${x - SIGN}" y="${y0 + f.dy}" width="${2 * SIGN}" height="${y1 - y0}" rx="3"/>`;
  const large = (y1 - y0) / f.around > 0.5 ? 1 : 0,
    arc = (r, a, b, sweep) =>
      `${polar(f, r, a).join(" ")} A ${r} ${r} 0 ${large} ${sweep} ${polar(f, r, b).join(" ")}`;
  return `<path class="mark" style="${pale(it.node.p)}" d="M ${arc(x - SIGN, y0, y1, 1)} L ${arc(x + SIGN, y1, y0, 0)} Z"/>`;
}
function signOf(x, it) {
  if (it.group)
    return [8, 4, 0]
      .map(d =>
        it.group[0].switch
          ? `<rect class="mark" x="${x - SIGN + d}" y="${-SIGN - 1}" width="${2 * SIGN - 2}" height="${2 * SIGN + 2}" rx="3"/>`
          : `<circle class="mark" cx="${x + d}" cy="0" r="${SIGN}"/>`,
      )
      .join("");
  return it.node.switch
    ? `<rect class="mark" x="${x - SIGN}" y="${-SIGN - 3}" width="${2 * SIGN}" height="${2 * SIGN + 6}" rx="3"/>`
    : `<circle class="mark" cx="${x}" cy="0" r="${SIGN}"/>`;
}

/* The words of a row, in its own frame: those of what is at the end of a line stand behind it, those of
 * an open switch over and under the line that leads to it. */
function wordsOf(f, it, flip) {
  const x = f.x(it.rank),
    strong = it.strong ? " note" : "",
    put = (at, y, text, cls = "", end = false) =>
      `<text class="${cls}" x="${(flip ? -at : at).toFixed(1)}" y="${y}"${end !== flip ? ' text-anchor="end"' : ""}>${escape(text)}</text>`;
  if (it.open) {
    if (!it.parent)
      return f.radial ? "" : put(x - SIGN, it.y0 - it.y - SIGN - 8, cut(nameOf(it), f.width - x), strong);
    const room = x - f.x(it.parent.rank) - 3 * SIGN - 4,
      line = linksOf(it).map(thickness)[0] / 2;
    const below = [
      it.node.ratio > 1.1 ? `${+it.node.ratio.toPrecision(2)}:1` : "",
      ...figuresOf(linksOf(it), true),
    ].filter(w => w);
    while (below.length && wide(below.join(" \u00b7 "), 11) > room) below.pop();
    return (
      put(x - SIGN - 4, -line - 5, cut(nameOf(it), room), strong, true) +
      (f.radial || !below.length ? "" : put(x - SIGN - 4, line + 13, below.join(" \u00b7 "), "small", true))
    );
  }
  let at = x + (it.group ? 20 : 12),
    text = put(at, 4.5, cut(nameOf(it), f.names), strong);
  const more = cut(besides(it), f.extra, 11);
  if (more) text += put(at + (f.radial ? wide(nameOf(it)) : f.names) + 10, 4.5, more, "small");
  at += f.names + (f.extra && f.extra + 10);
  const cells = f.radial ? [] : figuresOf(linksOf(it));
  f.cells.forEach((w, k) => {
    at += w + (w && 14);
    if (cells[k]) text += put(at, 4.5, cells[k], "small", true);
  });
  return text;
}

function labelOf(map, it) {
  if (it.group) return groupWords(it).join(", ");
  return [...nodeWords(map, it.node), ...nodeRemarks(it.node)].join(", ");
}
function drawRow(map, f, it) {
  const n = it.node,
    links = linksOf(it),
    x = f.x(it.rank);
  it.strong = !!n && (isStrong(n) || (n.up && isStrong(n.up)));
  const own = !!n && (isStrong(n) || (!n.switch && it.strong));
  const degrees = f.radial ? (360 * it.y) / f.around - 90 : 0,
    flip = !!f.radial && it.y > f.around / 2;
  const turn = f.radial
    ? `translate(${f.width / 2} ${f.height / 2}) rotate(${degrees.toFixed(2)})`
    : `translate(0 ${it.y + f.dy})`;
  const from = it.parent ? f.x(it.parent.rank) + SIGN : x,
    pick = it.open ? [from, x + SIGN] : [x - SIGN - 4, x + f.right - 8];
  const kind = it.group
    ? "group" + (it.group[0].switch ? " switch" : "")
    : n.switch
      ? "switch"
      : n.missing
        ? "host missing"
        : "host";
  const words = wordsOf(f, it, flip);
  const box = `<rect class="pick" x="${pick[0]}" y="${it.open ? -19 : -PITCH / 2}" width="${Math.max(1, pick[1] - pick[0])}" height="${it.open ? 36 : PITCH}" rx="4"/>`;
  const line = links.length
    ? `<path class="link" style="${lookOf(links)}" d="M ${from} 0 H ${it.open ? x - SIGN : x}"/><path class="hit" d="M ${from} 0 H ${x}"/>`
    : "";
  const opens = it.group || (n.switch && n.kids.length) ? ` aria-expanded="${!!it.open}"` : "";
  const top =
    it.open && !it.parent && f.radial
      ? `<text class="halo${it.strong ? " note" : ""}" text-anchor="middle" x="${f.width / 2}" y="${f.height / 2 + 4}">${escape(cut(n.name, 2 * f.inner - 30))}</text>`
      : "";
  return (
    `<g class="item ${kind}${it.strong ? " strong" : ""}${own ? " own" : ""}" role="treeitem" tabindex="-1" aria-level="${it.level}"${opens}` +
    ` aria-selected="false" aria-label="${escape(labelOf(map, it))}" data-key="${escape(it.key)}">` +
    wrap(turn, box + line) +
    (it.open ? barPath(f, it) : wrap(turn, signOf(x, it))) +
    wrap(flip ? `${turn} rotate(180)` : turn, words) +
    top +
    "</g>"
  );
}
/* the transform goes to each part, so that a style can speak of an item's own parts */
const wrap = (turn, parts) => parts.replace(/<(path|rect|circle|text) /g, `<$1 transform="${turn}" `);

function drawTree(pane, room) {
  const lay = layRows(pane.map),
    f = frameOf(pane.map, lay, room, state.layout === "radial");
  pane.items = lay.items;
  pane.crowded = false;
  pane.size = [Math.ceil(f.width), Math.ceil(f.height)];
  return lay.items.map(it => drawRow(pane.map, f, it)).join("");
}

/* ---- what is no tree ------------------------------------------------------------------------*/

const turned = { turn: 0.6, tilt: 0.35 };
function project([u, v, w]) {
  const ct = Math.cos(turned.turn),
    st = Math.sin(turned.turn),
    cs = Math.cos(turned.tilt),
    ss = Math.sin(turned.tilt);
  const a = u * ct + w * st,
    b = w * ct - u * st,
    c = v * cs - b * ss,
    near = 1 / (1 + 0.35 * (v * ss + b * cs));
  return [a * near, c * near];
}
const isLeaf = (map, n) => !n.switch && n.links.length === 1 && otherEnd(map, n.links[0], n).switch;
/* Where everything stands, the farthest at 1 from the middle; hosts in a fan around their switch. */
function placeAll(map) {
  const at = [],
    core = map.nodes.filter(n => !isLeaf(map, n)),
    hidden = n => isLeaf(map, n) && !fanOpen(map, otherEnd(map, n.links[0], n));
  core.forEach((n, k) => {
    const t = (2 * Math.PI * k) / core.length - Math.PI / 2;
    at[n.i] =
      state.layout === "circle" || !n.flat
        ? [Math.cos(t), Math.sin(t)]
        : state.layout === "stress-3d" && n.solid
          ? project(n.solid)
          : n.flat;
  });
  for (const s of core.filter(n => n.switch && fanOpen(map, n))) {
    const leaves = s.links.map(l => otherEnd(map, l, s)).filter(n => isLeaf(map, n)),
      [x, y] = at[s.i],
      out = Math.atan2(y, x);
    leaves.forEach((n, k) => {
      const t = out + (k - (leaves.length - 1) / 2) * Math.min(0.35, 2.6 / leaves.length);
      at[n.i] = [x + 0.22 * Math.cos(t), y + 0.22 * Math.sin(t)];
    });
  }
  const shown = map.nodes.filter(n => at[n.i] && !hidden(n));
  const far = shown.reduce((m, n) => Math.max(m, Math.hypot(...at[n.i])), 0) || 1;
  return { at: at.map(([x, y]) => [x / far, y / far]), shown };
}
function fanOpen(map, s) {
  const open = state.all || map.nodes.length <= ROWS || s.noted;
  return open !== state.toggled.has(s.name);
}
/* The widest gap between the lines at a vertex: there its label stands. */
function freeSide(map, n, at) {
  const [x, y] = at[n.i],
    all = n.links
      .map(l => otherEnd(map, l, n))
      .filter(m => at[m.i])
      .map(m => Math.atan2(at[m.i][1] - y, at[m.i][0] - x))
      .sort((a, b) => a - b);
  if (!all.length) return 0;
  let best = 0,
    most = -1;
  all.forEach((t, k) => {
    const gap = (k + 1 < all.length ? all[k + 1] : all[0] + 2 * Math.PI) - t,
      side = t + gap / 2;
    const worth = Math.min(gap, 2) + 0.3 * Math.abs(Math.cos(side));
    if (worth > most) {
      most = worth;
      best = side;
    }
  });
  return best;
}
function sizeOf(at, shown, room, labelOfVertex) {
  const others = shown.slice(0, 3000).map(n => at[n.i]);
  const near = shown.slice(0, 400).map(n => {
    const p = at[n.i];
    let least = Infinity;
    for (const q of others) if (q !== p) least = Math.min(least, (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2);
    return Math.sqrt(least);
  });
  const typical = middle(near.filter(d => d > 0)) || 1;
  const apart =
    shown.length > 150 ? 30 : Math.min(110, 24 + Math.max(...shown.map(n => wide(labelOfVertex(n)))));
  return Math.min(Math.max(room / 2 - 90, apart / typical), 2200);
}
const leavesOf = (map, s) => (s.switch ? s.links.filter(l => isLeaf(map, otherEnd(map, l, s))).length : 0);
function drawNet(pane, room) {
  const { map } = pane,
    { at, shown } = placeAll(map),
    edge = 90;
  const labelOfVertex = n =>
    n.name + (leavesOf(map, n) && !fanOpen(map, n) ? ` \u00b7 ${plural(leavesOf(map, n), "host")}` : "");
  const unit = sizeOf(at, shown, room, labelOfVertex);
  const px = shown.map(n => at[n.i]),
    spread = k => [px.reduce((m, p) => Math.min(m, p[k]), 0), px.reduce((m, p) => Math.max(m, p[k]), 0)];
  const [[x0, x1], [y0, y1]] = [spread(0), spread(1)],
    X = n => edge + (at[n.i][0] - x0) * unit,
    Y = n => edge / 2 + (at[n.i][1] - y0) * unit;
  pane.size = [Math.ceil((x1 - x0) * unit + 2 * edge), Math.ceil((y1 - y0) * unit + edge)];
  const visible = new Set(shown),
    crowded = shown.length > 150,
    thin = map.links.length > 600 ? 0.35 : 1;
  pane.crowded = crowded;
  pane.items = shown.map(node => ({ node, key: node.name, level: 1 }));
  /* of very many each is one element, and links that look alike share the style */
  const plain = map.links.length > 2000,
    looks = new Map();
  let lines = "";
  for (const l of map.links) {
    const [a, b] = [map.nodes[l.a], map.nodes[l.b]];
    if (!visible.has(a) || !visible.has(b)) continue;
    const d = `M ${X(a).toFixed(1)} ${Y(a).toFixed(1)} L ${X(b).toFixed(1)} ${Y(b).toFixed(1)}`,
      look = lookOf([l], thin);
    if (plain && !isStrong(l))
      looks.set(look, `${looks.get(look) ?? ""}<path class="item link" data-key="${escape(l.key)}" d="${d}"/>`);
    else
      lines += `<g class="item${isStrong(l) ? " strong" : ""}" data-key="${escape(l.key)}"><path class="pick" d="${d}"/><path class="link" style="${look}" d="${d}"/><path class="hit" d="${d}"/></g>`;
  }
  lines = [...looks].map(([look, paths]) => `<g class="plain" style="${look}">${paths}</g>`).join("") + lines;
  const labels = labelsOf(map, shown, at, X, Y, labelOfVertex);
  return (
    lines +
    shown
      .map(n => {
        const strong = isStrong(n),
          r = n.switch ? 7 : SIGN,
          at0 = `${(X(n) - r).toFixed(1)}" y="${(Y(n) - r).toFixed(1)}`;
        const kind = n.switch ? "switch" : n.missing ? "host missing" : "host",
          about =
            `role="option" tabindex="-1" aria-selected="false"` +
            ` aria-label="${escape([...nodeWords(map, n), ...remarks(n)].join(", "))}" data-key="${escape(n.name)}"`;
        const sign = more =>
          n.switch
            ? `<rect ${more} x="${at0}" width="${2 * r}" height="${2 * r}" rx="3"/>`
            : `<circle ${more} cx="${X(n).toFixed(1)}" cy="${Y(n).toFixed(1)}" r="${crowded ? 4 : r}"/>`;
        if (plain && !strong && !labels.has(n)) return sign(`class="item mark ${kind}" ${about}`);
        return (
          `<g class="item ${kind}${strong ? " strong own" : ""}" ${about}>` +
          `<circle class="pick" cx="${X(n).toFixed(1)}" cy="${Y(n).toFixed(1)}" r="${r + 6}"/>` +
          sign(`class="mark"`) +
          (labels.get(n) ?? "") +
          "</g>"
        );
      })
      .join("")
  );
}
/* Whether the line from a to b, which is some pixels thick, meets a box: what is left of it between its sides. */
function meets([x0, y0, x1, y1], [ax, ay, bx, by]) {
  const thick = 3;
  let from = 0,
    to = 1;
  for (const [p, d, low, high] of [
    [ax, bx - ax, x0 - thick, x1 + thick],
    [ay, by - ay, y0 - thick, y1 + thick],
  ]) {
    if (d === 0 && (p < low || p > high)) return false;
    if (d === 0) continue;
    const [t0, t1] = [(low - p) / d, (high - p) / d];
    from = Math.max(from, Math.min(t0, t1));
    to = Math.min(to, Math.max(t0, t1));
  }
  return from < to;
}
/* Labels beside their hosts and switches, of which none lies on another, and on a line only where there
 * is no other place: findings first, what has no room goes without. */
function labelsOf(map, shown, at, X, Y, words) {
  const taken = new Map(),
    out = new Map(),
    cell = v => Math.floor(v / 60);
  const each = (b, act) => {
    for (let i = cell(b[0]); i <= cell(b[2]); i++)
      for (let j = cell(b[1]); j <= cell(b[3]); j++) act(`${i},${j}`);
  };
  const put = (b, what) =>
    each(b, key => {
      if (!taken.has(key)) taken.set(key, { boxes: [], lines: [] });
      taken.get(key)[what].push(b);
    });
  const isFree = (b, own, lines) => {
    let free = true;
    each(b, key => {
      const near = taken.get(key);
      free &&= !near?.boxes.some(o => o[4] !== own && b[0] < o[2] && o[0] < b[2] && b[1] < o[3] && o[1] < b[3]);
      free &&= !lines || !near?.lines.some(l => meets(b, l[4]));
    });
    return free;
  };
  for (const n of shown) {
    const r = n.switch ? 7 : SIGN;
    put([X(n) - r, Y(n) - r, X(n) + r, Y(n) + r, n], "boxes");
  }
  const careful = shown.length <= 150; /* where there are more it takes longer than it is worth */
  if (careful)
    for (const l of map.links) {
      const [a, b] = [map.nodes[l.a], map.nodes[l.b]];
      if (!at[a.i] || !at[b.i]) continue;
      /* in pieces, so that a long one is not in all cells of its box */
      for (let k = 0; k < 8; k++) {
        const on = (from, to, t) => from + ((to - from) * t) / 8,
          piece = [on(X(a), X(b), k), on(Y(a), Y(b), k), on(X(a), X(b), k + 1), on(Y(a), Y(b), k + 1)];
        const [x0, x1] = [piece[0], piece[2]].sort((p, q) => p - q),
          [y0, y1] = [piece[1], piece[3]].sort((p, q) => p - q);
        put([x0, y0, x1, y1, piece], "lines");
      }
    }
  for (const n of [...shown].sort((a, b) => isStrong(b) - isStrong(a) || !!b.switch - !!a.switch)) {
    if (shown.length > 600 && !isStrong(n)) continue;
    const r = n.switch ? 7 : SIGN,
      label = words(n),
      long = wide(label),
      best = freeSide(map, n, at);
    const placeAt = (side, more) => {
      const c = Math.cos(side),
        x = X(n) + (r + 5 + more) * c,
        y = Y(n) + 4 + (r + 11 + more) * Math.sin(side),
        anchor = c > 0.3 ? "start" : c < -0.3 ? "end" : "middle";
      const left = anchor === "start" ? x : anchor === "end" ? x - long : x - long / 2;
      return { x, y, anchor, box: [left, y - 12, left + long, y + 4] };
    };
    /* the widest gap first, then around, then farther away */
    const places = [0, 7, 14, 21].flatMap(more =>
      [0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6].map(k => [best + (k * Math.PI) / 6, more]),
    );
    const clear = careful && places.find(([side, more]) => isFree(placeAt(side, more).box, n, true));
    const place = placeAt(...(clear || places[0]));
    if (!clear && !isStrong(n) && !isFree(place.box, n, false)) continue;
    put([...place.box, null], "boxes");
    out.set(
      n,
      `<text class="halo${isStrong(n) ? " note" : ""}" x="${place.x.toFixed(1)}" y="${place.y.toFixed(1)}" text-anchor="${place.anchor}">${escape(label)}</text>`,
    );
  }
  return out;
}
