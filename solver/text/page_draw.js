/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a network as SVG. A tree has bars and lines: a switch is a bar as high as the rows below it, a
 * link is a straight line, and a label is beside its part, so that nothing crosses and nothing
 * overlaps; radial is the same bent around the top. Other networks are laid out by latency (stress
 * majorisation, made with the page), or on a circle. */
const { pitch: PITCH, lone: LONE, gap: GAP, sign: SIGN, name: NAME, small: SMALL } = look;
const ZOOM_MOST = 2;
const OUT = 20; /* from the middle of a sign to its name: a group has three signs */
const ink = document.createElement("canvas").getContext("2d");
const wide = (text, size = NAME) => {
  ink.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
  return ink.measureText(text).width * 1.04;
};
const widest = (texts, size) => texts.reduce((most, text) => Math.max(most, wide(text, size)), 0);
const escape = s => s.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
const cut = (text, room, size) => {
  if (wide(text, size) <= room) return text;
  let keep = text.length - 1;
  while (keep > 1 && wide(text.slice(0, keep) + "\u2026", size) > room) keep--;
  return text.slice(0, keep) + "\u2026";
};

/* ---- figures to looks -----------------------------------------------------------------------*/

function colour(value) {
  const of = look[state.by];
  if (value === undefined || !of) return "";
  const [low, high] = [num(of.low), num(of.high)],
    share = high > low ? (num(value) - low) / (high - low) : 0;
  return `stroke:color-mix(in oklab, var(--high) ${Math.round(100 * share)}%, var(--low));`;
}
const pale = (opacity = 1) => (opacity < 1 ? `opacity:${opacity.toFixed(2)};` : "");
const halfway = list => finite(list)[finite(list).length >> 1];
function lookOf(links, thin = 1) {
  return (
    `--px:${(thin * halfway(links.map(pxOf))).toFixed(1)}px;` +
    colour(middle(links.map(l => figures[state.by]?.of(l)))) +
    pale(halfway(links.map(l => l.opacity ?? 1)))
  );
}
/* An arrow on a link that was seen from a to b only, at x of its line. */
function wayOf(l, x, back, more = "") {
  const s = back ? -1 : 1;
  return l.simplex
    ? `<path class="way" style="${pale(l.opacity)}" d="M ${x - 7 * s} -8 L ${x + 9 * s} 0 L ${x - 7 * s} 8 Z"${more}/>`
    : "";
}
const kindOf = n => (n.switch ? "switch" : n.missing ? "host missing" : "host");
const aboutItem = (role, words, key) =>
  `role="${role}" tabindex="-1" aria-selected="false" aria-label="${escape(words.join(", "))}" data-key="${escape(key)}"`;
const bar = (x, y, width, height, more = 'class="mark"') =>
  `<rect ${more} x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width}" height="${height}" rx="3"/>`;
const disc = (x, y, r, more = 'class="mark"') =>
  `<circle ${more} cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r}"/>`;

/* The part of a picture's plane that is drawn, with a margin. */
function drawnBox(svg) {
  const margin = 12,
    b = svg.getBBox();
  return [b.x - margin, b.y - margin, b.width + 2 * margin, b.height + 2 * margin].map(Math.round);
}

/* ---- a tree ---------------------------------------------------------------------------------*/

/* On a narrow screen values are below names, and an open switch has a row of its own: columns would take the
 * room of the names. */
const isStacked = () => state.layout === "tree" && isPhone() && innerWidth < 500;

/* Rows from top to bottom, as in svg.c: the parts of each, its level and its place. */
function layRows(map) {
  const items = [],
    stacked = isStacked();
  let y = 0;
  const lay = (row, level, parent) => {
    const [n] = row.nodes,
      item = {
        ...row,
        level,
        parent,
        rank: n.rank,
        open: !row.group && n.kids.length > 0 && isOpen(map.way, n),
      };
    items.push(item);
    if (!item.open) {
      const height = n.switch || stacked ? LONE : PITCH;
      y += height;
      item.y = item.y0 = item.y1 = y - height / 2;
      return item;
    }
    /* the only lines of a switch leave room for the words at its link */
    const rows = rowsBelow(map.way, n),
      padding =
        stacked || rows.some(r => r.nodes[0].switch) ? 0 : Math.max(0, (LONE - rows.length * PITCH) / 2);
    y += GAP + padding;
    item.head = y;
    if (stacked) y += PITCH;
    const kids = rows.map(r => lay(r, level + 1, item));
    y += padding;
    item.y0 = stacked ? item.head + PITCH : kids[0].y;
    item.y1 = kids.at(-1).y;
    item.y = (item.y0 + item.y1) / 2;
    return item;
  };
  for (const top of map.tops) {
    lay(rowOf(top), 1, null);
    y += GAP;
  }
  for (const node of map.loose) lay(rowOf(node), 1, null);
  return { items, height: y };
}

const nameOf = ({ group, nodes }) => {
  const [n] = nodes;
  if (group) return n.switch ? `${nodes.length} switches` : namesOf(nodes);
  return unsure(n) ? `${n.name} ${n.p} %` : n.name;
};
const figuresOf = links =>
  [
    [middle(links.map(l => l.us)), "us"],
    [middle(links.map(least)), "MB/s"],
  ].map(([value, unit]) => (value === undefined ? "" : `${value} ${unit}`));
const DOT = " \u00b7 ";
const uplinkOf = ({ nodes: [n] }) => [n.ratio, ...figuresOf([n.up])].filter(x => x).join(DOT);
/* The text behind a name. */
function besides({ group, open, nodes }) {
  const [n] = nodes,
    each = nodes.map(m => m.hosts);
  if (group)
    return n.switch
      ? [...new Set([Math.min(...each), Math.max(...each)])].join("\u2013") + " hosts each"
      : plural(nodes.length, "host");
  return n.missing ? "did not answer" : n.switch && !open ? plural(n.hosts, "host") : "";
}
const pxOf = l => Math.max(l.px, isStrong(l) ? look.bad : 0);
const linksOf = it => it.nodes.flatMap(n => n.up ?? []);

/* From the frame of a tree, x from the top and y across, to the picture. A low tree is narrow, so that it can
 * be larger (zoom); but the values of links between switches have room. */
function frameOf(map, lay, room, zoom, radial) {
  const depths = map.ranks;
  if (isStacked()) {
    const x = rank => 24 + (depths - rank) * 28,
      names = room - x(0) - OUT - 12;
    const right = OUT + names + 12;
    return {
      radial: false,
      stacked: true,
      names,
      columns: [],
      right,
      x,
      width: room,
      height: lay.height + 24,
      dy: 16,
    };
  }
  const ends = lay.items.filter(it => !it.open);
  let names = Math.min(260, 0.3 * room, Math.max(60, widest(ends.map(nameOf)))),
    columns = [
      Math.min(200, widest(ends.map(besides), SMALL)),
      ...(radial
        ? []
        : [0, 1].map(k =>
            widest(
              ends.map(it => figuresOf(linksOf(it))[k]),
              SMALL,
            ),
          )),
    ];
  /* given up where there is no room: how many hosts, then the latency */
  const behind = () => OUT + names + columns.reduce((s, w) => s + (w && w + 14), 0) + 12;
  for (const k of [0, 1]) if (!radial && (room - behind() - 40) / depths < 64) columns[k] = 0;
  /* a latency beside a switch's name has room, at the expense of long names of hosts */
  const beside = lay.items.filter(it => it.open && it.parent && !radial),
    each = beside.map(it => wide(nameOf(it)) + wide(figuresOf(linksOf(it))[0], SMALL)),
    lack = depths * (3 * SIGN + 14 + Math.max(0, ...each)) - (room - behind() - 40);
  if (each.length && lack > 0 && lack < names / 3) names -= lack;
  const uplinks = 30 + widest(lay.items.filter(it => it.open && it.parent).map(uplinkOf), SMALL);
  const right = behind(),
    inner = radial ? Math.max(54, widest(map.tops.map(n => n.name)) / 2 + 16) : 24;
  /* all around, rows and switches of a rank have room */
  const around = rank => (rank ? 30 * lay.items.filter(it => it.rank === rank).length : lay.height + PITCH);
  const column = radial
    ? Math.max(
        70,
        (room / 2 - right - inner) / depths,
        ...Array.from(
          { length: depths },
          (_, rank) => (around(rank) / 2 / Math.PI - inner) / (depths - rank),
        ),
      )
    : Math.max(
        36,
        Math.min(190, (room - right - 40) / depths, Math.max(uplinks, (room / zoom - right - 40) / depths)),
      );
  const x = rank => inner + (depths - rank) * column,
    width = (x(0) + right) * (radial ? 2 : 1);
  return {
    ...{ radial, names, columns, right, inner, x, width },
    height: radial ? width : lay.height + 24,
    dy: 16,
    around: lay.height + GAP,
  };
}
const polar = (f, r, y) => {
  const t = (2 * Math.PI * y) / f.around - Math.PI / 2;
  return [f.width / 2 + r * Math.cos(t), f.height / 2 + r * Math.sin(t)].map(v => v.toFixed(1));
};

function barPath(f, it) {
  const x = f.x(it.rank),
    y0 = it.y0 - SIGN - 2,
    y1 = it.y1 + SIGN + 2,
    look = `class="mark" style="${pale(it.nodes[0].opacity)}"`;
  if (!f.radial) return bar(x - SIGN, y0 + f.dy, 2 * SIGN, y1 - y0, look);
  const large = (y1 - y0) / f.around > 0.5 ? 1 : 0,
    arc = (r, a, b, sweep) =>
      `${polar(f, r, a).join(" ")} A ${r} ${r} 0 ${large} ${sweep} ${polar(f, r, b).join(" ")}`;
  return `<path ${look} d="M ${arc(x - SIGN, y0, y1, 1)} L ${arc(x + SIGN, y1, y0, 0)} Z"/>`;
}
function signOf(x, { group, nodes: [n] }) {
  const [width, height] = group ? [2 * SIGN - 2, 2 * SIGN + 2] : [2 * SIGN, 2 * SIGN + 6];
  return (group ? [8, 4, 0] : [0])
    .map(d => (n.switch ? bar(x - SIGN + d, -height / 2, width, height) : disc(x + d, 0, SIGN)))
    .join("");
}

/* The words of a row, in its own frame: behind the end of its line, or for an open switch over and under
 * the line that leads to it. */
function wordsOf(f, it, flip) {
  const x = f.x(it.rank),
    strong = it.strong ? "note" : "",
    put = (at, y, text, cls, end = false) =>
      `<text class="${cls}" x="${(flip ? -at : at).toFixed(1)}" y="${y}"${end !== flip ? ' text-anchor="end"' : ""}>${escape(text)}</text>`;
  if (f.stacked) {
    const y = it.open ? it.head + PITCH - it.y - 14 : -4,
      from = it.open ? x - SIGN : x + OUT,
      text = cut(nameOf(it), f.width - from - 12),
      values = [
        it.open ? [] : besides(it),
        it.open && it.parent ? uplinkOf(it) : figuresOf(linksOf(it)),
      ].flat(),
      more = values.filter(v => v).join(DOT),
      behind = from + wide(text) + 12;
    return (
      put(from, y, text, strong) +
      (more &&
        (it.open
          ? put(behind, y, cut(more, f.width - behind - 8, SMALL), "small")
          : put(from, y + 16, more, "small")))
    );
  }
  if (it.open && !it.parent)
    return f.radial ? "" : put(x - SIGN, it.y0 - it.y - SIGN - 8, cut(nameOf(it), f.width - x), strong);
  if (it.open) {
    const [n] = it.nodes,
      room = x - f.x(it.parent.rank) - 3 * SIGN - 4,
      half = pxOf(n.up) / 2,
      all = f.radial ? "" : uplinkOf(it),
      us = figuresOf([n.up])[0],
      before = wide(nameOf(it)) + 8,
      top = it.parent.parent ? 0 : wide(nameOf(it.parent)); /* it may be on the same line */
    /* the latency is before the name if it has no room beside the bandwidth */
    const up = wide(all, SMALL) > room && before + wide(us, SMALL) <= room - top,
      below = all.split(DOT).filter(x => !up || x !== us);
    while (below.length && wide(below.join(DOT), SMALL) > room)
      below.splice(Math.max(0, below.length - 2), 1);
    return (
      put(x - SIGN - 4, -half - 5, cut(nameOf(it), room), strong, true) +
      (up && us ? put(x - SIGN - 4 - before, -half - 5, us, "small", true) : "") +
      (below.length ? put(x - SIGN - 4, half + SMALL + 1, below.join(DOT), "small", true) : "")
    );
  }
  const values = figuresOf(linksOf(it)),
    [about, ...cells] = f.columns;
  let at = x + OUT,
    text = put(at, 5, cut(nameOf(it), f.names + (f.radial ? 0 : f.x(0) - x)), strong);
  const more = about && cut(besides(it), about, SMALL);
  if (!f.radial) at = f.x(0) + OUT; /* columns of values, for switches as well */
  if (more) text += put(at + (f.radial ? wide(nameOf(it)) : f.names) + 14, 5, more, "small");
  at += f.names + (about && about + 14);
  cells.forEach((w, k) => {
    at += w && w + 14;
    if (w && values[k]) text += put(at, 5, values[k], "small", true);
  });
  return text;
}

function drawRow(map, f, it) {
  const [n] = it.nodes,
    links = linksOf(it),
    x = f.x(it.rank);
  it.strong = !it.group && n.own;
  const own = it.strong && (isStrong(n) || !n.switch),
    flip = f.radial && it.y > f.around / 2;
  const turn = f.radial
    ? `translate(${f.width / 2} ${f.height / 2}) rotate(${((360 * it.y) / f.around - 90).toFixed(2)})`
    : `translate(0 ${it.y + f.dy})`;
  const from = it.parent ? f.x(it.parent.rank) + SIGN : x,
    end = f.radial
      ? x + OUT + wide(cut(nameOf(it), f.names)) + 14 + wide(cut(besides(it), f.columns[0], SMALL), SMALL)
      : f.x(0) + f.right - 8,
    pick = it.open ? [from, x + SIGN] : [x - SIGN - 4, end],
    kind = it.group ? "group" + (n.switch ? " switch" : "") : kindOf(n),
    words = it.group ? groupWords(it) : [...nodeWords(map, n), ...nodeRemarks(n)];
  const box = `<rect class="pick" x="${pick[0]}" y="${it.open ? -19 : -PITCH / 2}" width="${Math.max(1, pick[1] - pick[0])}" height="${it.open ? 36 : PITCH}" rx="4"/>`;
  const line = links.length
    ? `<path class="link" style="${lookOf(links)}" d="M ${from} 0 H ${it.open ? x - SIGN : x}"/><path class="hit" d="M ${from} 0 H ${x}"/>` +
      (links.length === 1 ? wayOf(links[0], (from + x) / 2, links[0].a === n.i) : "")
    : "";
  const opens = it.group || n.kids.length ? ` aria-expanded="${it.open}"` : "";
  const top =
    it.open && !it.parent && f.radial
      ? `<text class="halo${it.strong ? " note" : ""}" text-anchor="middle" x="${f.width / 2}" y="${f.height / 2 + 4}">${escape(cut(n.name, 2 * f.inner - 30))}</text>`
      : "";
  return (
    `<g class="item ${kind}${it.strong ? " strong" : ""}${own ? " own" : ""}" aria-level="${it.level}"${opens} ${aboutItem("treeitem", words, it.key)}>` +
    wrap(turn, box + line) +
    (it.open ? barPath(f, it) : wrap(turn, signOf(x, it))) +
    wrap(flip ? `${turn} rotate(180)` : turn, wordsOf(f, it, flip)) +
    top +
    "</g>"
  );
}
/* the transform goes to each part, so that a style can speak of an item's own parts */
const wrap = (turn, parts) => parts.replace(/<(path|rect|circle|text) /g, `<$1 transform="${turn}" `);

function drawTree(pane, room, tall) {
  const lay = layRows(pane.map),
    zoom = Math.min(ZOOM_MOST, Math.max(1, tall / (lay.height + 24))),
    f = frameOf(pane.map, lay, room, zoom, state.layout === "radial");
  pane.items = lay.items;
  pane.crowded = false;
  pane.box = f.radial ? null : [0, 0, Math.ceil(f.width), Math.ceil(f.height)];
  return lay.items.map(it => drawRow(pane.map, f, it)).join("");
}

/* ---- other networks -------------------------------------------------------------------------*/

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
/* The places of all vertices, the farthest at 1 from the middle; hosts in a fan around their switch. */
function placeAll(map) {
  const at = [],
    grid = state.layout === "grid",
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
      at[n.i] = grid ? n.flat : [x + 0.22 * Math.cos(t), y + 0.22 * Math.sin(t)];
    });
  }
  const shown = map.nodes.filter(n => at[n.i] && !hidden(n));
  const far = shown.reduce((m, n) => Math.max(m, Math.hypot(...at[n.i])), 0) || 1;
  return { at: at.map(([x, y]) => [x / far, y / far]), shown, far };
}
function fanOpen(map, s) {
  const open = state.all || map.nodes.length <= ROWS || s.noted;
  return state.toggled.get(s.name) ?? open;
}
/* The side of a vertex, one of eight, that is farthest from its lines, for its label; as in svg.c. */
function freeSide(map, n, at) {
  /* no line of a grid is there; hosts are below their switch */
  if (state.layout === "grid") return n.switch ? (-3 * Math.PI) / 4 : Math.PI / 4;
  const [x, y] = at[n.i],
    lines = n.links
      .map(l => at[otherEnd(map, l, n).i])
      .filter(p => p)
      .map(p => Math.atan2(p[1] - y, p[0] - x));
  const sides = [0, 1, 2, 3, 4, 5, 6, 7].map(k => {
    const side = (k * Math.PI) / 4,
      apart = lines.map(line => Math.acos(Math.cos(line - side)));
    return { side, worth: Math.min(1, ...apart) + 0.2 * Math.abs(Math.cos(side)) };
  });
  return sides.reduce((best, s) => (s.worth > best.worth ? s : best)).side;
}
function sizeOf(at, shown, fits, labelOfVertex) {
  const others = shown.slice(0, 3000).map(n => at[n.i]);
  const near = shown.slice(0, 400).map(n => {
    const p = at[n.i];
    let least = Infinity;
    for (const q of others) if (q !== p) least = Math.min(least, (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2);
    return Math.sqrt(least);
  });
  const typical = halfway(near.filter(d => d > 0)) || 1;
  const apart =
    shown.length > 150 ? 30 : Math.min(110, 24 + Math.max(...shown.map(n => wide(labelOfVertex(n)))));
  return Math.min(Math.max(fits, apart / typical), 2200);
}
const leavesOf = (map, s) => (s.switch ? s.links.filter(l => isLeaf(map, otherEnd(map, l, s))).length : 0);
const radiusOf = n => (n.switch ? 7 : SIGN);
function drawNet(pane, room, tall) {
  const { map } = pane,
    { at, shown, far } = placeAll(map),
    crowded = shown.length > 150,
    plain = map.links.length > 2000 /* each is one element, and links with the same look share the style */,
    thin = map.links.length > 600 && !map.grid ? 0.35 : 1;
  const labelOfVertex = n =>
    n.name +
    (!isPhone() && leavesOf(map, n) && !fanOpen(map, n) ? ` \u00b7 ${plural(leavesOf(map, n), "host")}` : "");
  /* around all places: names, or the short ends of a grid and names behind them */
  const margin = state.layout === "grid" ? (0.4 * map.grid) / far : 0,
    [across, down] = margin ? [20, 10] : isPhone() ? [50, 45] : [90, 45],
    [xs, ys] = [0, 1].map(k => finite([0, ...shown.map(n => at[n.i][k])])),
    spans = [xs, ys].map(all => all.at(-1) - all[0] + 2 * margin),
    room2 = [room - 2 * across, tall - 2 * down],
    fits = margin
      ? Math.min(...spans.map((span, k) => room2[k] / span))
      : isPhone()
        ? room2[0] / spans[0]
        : room / 2 - 90,
    unit = isPhone() ? fits : sizeOf(at, shown, fits, labelOfVertex),
    px = at.map(([x, y]) => [across + (x - xs[0] + margin) * unit, down + (y - ys[0] + margin) * unit]);
  pane.crowded = crowded;
  pane.box = null;
  pane.items = shown.map(rowOf);
  const visible = new Set(shown),
    labels = labelsOf(map, shown, px, labelOfVertex),
    looks = new Map();
  let lines = "";
  for (const l of map.links) {
    const ends = [map.nodes[l.a], map.nodes[l.b]];
    if (!ends.every(n => visible.has(n))) continue;
    const d = lineOf(l, px, unit / far),
      look = lookOf([l], thin),
      key = escape(l.key);
    const [[x0, y0], [x1, y1]] = [px[l.a], px[l.b]],
      turn = (Math.atan2(y1 - y0, x1 - x0) * 180) / Math.PI,
      way = wayOf(l, 0, false, ` transform="translate(${(x0 + x1) / 2} ${(y0 + y1) / 2}) rotate(${turn})"`);
    if (plain && !isStrong(l)) {
      lines += way;
      looks.set(look, `${looks.get(look) ?? ""}<path class="item link" data-key="${key}" d="${d}"/>`);
    } else
      lines += `<g class="item${isStrong(l) ? " strong" : ""}" data-key="${key}"><path class="pick" d="${d}"/><path class="link" style="${look}" d="${d}"/><path class="hit" d="${d}"/>${way}</g>`;
  }
  const vertices = shown.map(n => {
    const [x, y] = px[n.i],
      r = radiusOf(n),
      strong = isStrong(n),
      about = aboutItem("option", [...nodeWords(map, n), ...remarks(n)], n.name);
    const sign = more =>
      n.switch ? bar(x - r, y - r, 2 * r, 2 * r, more) : disc(x, y, crowded ? 4 : r, more);
    if (plain && !strong && !labels.has(n)) return sign(`class="item mark ${kindOf(n)}" ${about}`);
    return (
      `<g class="item ${kindOf(n)}${strong ? " strong own" : ""}" ${about}>` +
      disc(x, y, r + 6, 'class="pick"') +
      sign() +
      (labels.get(n) ?? "") +
      "</g>"
    );
  });
  return (
    [...looks].map(([look, paths]) => `<g class="plain" style="${look}">${paths}</g>`).join("") +
    lines +
    vertices.join("")
  );
}
/* A straight line; of a grid's links around an edge or to another plane the short ends, but one with a finding
 * is a bow from end to end. As in svg.c. */
function lineOf(l, px, unit) {
  const [[x0, y0], [x1, y1]] = [px[l.a], px[l.b]],
    path = (strings, ...values) => String.raw({ raw: strings }, ...values.map(v => v.toFixed(1)));
  if (!l.end || state.layout !== "grid") return path`M ${x0} ${y0} L ${x1} ${y1}`;
  if (isStrong(l))
    return path`M ${x0} ${y0} Q ${(x0 + x1) / 2 + 0.12 * (y1 - y0)} ${(y0 + y1) / 2 - 0.12 * (x1 - x0)} ${x1} ${y1}`;
  const [dx, dy] = l.end.map(v => v * unit);
  return path`M ${x0} ${y0} l ${dx} ${dy} M ${x1} ${y1} l ${-dx} ${-dy}`;
}
/* Whether the line from a to b, which is some pixels thick, meets a box: cuts it at each side. */
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
/* Labels beside their hosts and switches. None lies on another, and one lies on a line only if there is no
 * other place: in a grid beside its vertex. Findings come first; a vertex without room has no label. */
function labelsOf(map, shown, px, words) {
  const out = new Map(),
    boxes = shown.map(n => [...px[n.i].map(v => v - radiusOf(n)), ...px[n.i].map(v => v + radiusOf(n)), n]);
  const few = shown.length <= 150, /* with more it takes longer than it is worth */
    careful = few && state.layout !== "grid";
  const lines = (careful ? map.links : []).filter(l => px[l.a] && px[l.b]).map(l => [...px[l.a], ...px[l.b]]);
  const clash = (b, own) =>
    boxes.some(o => o[4] !== own && b[0] < o[2] && o[0] < b[2] && b[1] < o[3] && o[1] < b[3]);
  for (const n of [...shown].sort((a, b) => isStrong(b) - isStrong(a) || !!b.switch - !!a.switch)) {
    if (shown.length > 600 && !isStrong(n)) continue;
    const label = words(n),
      long = wide(label),
      best = freeSide(map, n, px);
    const placeAt = ([turn, more]) => {
      const side = best + (turn * Math.PI) / 6,
        c = Math.cos(side),
        x = px[n.i][0] + (radiusOf(n) + 5 + more) * c,
        y = px[n.i][1] + 4 + (radiusOf(n) + 11 + more) * Math.sin(side),
        anchor = c > 0.3 ? "start" : c < -0.3 ? "end" : "middle";
      const left = anchor === "start" ? x : anchor === "end" ? x - long : x - long / 2;
      return { x, y, anchor, box: [left, y - 14, left + long, y + 4] };
    };
    /* the free side first, then around, then farther away */
    const places = [0, 7, 14, 21].flatMap(more =>
      [0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6].map(k => [k, more]),
    );
    const isClear = ({ box }) => !clash(box, n) && !lines.some(l => meets(box, l));
    const clear = careful && places.map(placeAt).find(isClear);
    const near = few && !clear ? places.slice(0, careful ? places.length : 12).map(placeAt) : [];
    const free = near.find(({ box }) => !clash(box, n));
    const place = clear || free || placeAt(places[0]);
    if (!clear && !free && !isStrong(n) && clash(place.box, n)) continue;
    boxes.push(place.box);
    out.set(
      n,
      `<text class="halo${isStrong(n) ? " note" : ""}" x="${place.x.toFixed(1)}" y="${place.y.toFixed(1)}" text-anchor="${place.anchor}">${escape(label)}</text>`,
    );
  }
  return out;
}
