/* SPDX-License-Identifier: Apache-2.0 */
/* Pointer, keyboard and buttons; begins when all is defined. */
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
const keyed = e => e.target.closest?.("[data-key]");
function fold(pane, key) {
  const n = pane.map.byName.get(key),
    it = pane.items.find(x => x.key === key);
  if (!it || !(it.group || n?.switch)) return;
  toggle(it.group ? key : n.name);
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
  const keys = [
    ...new Set(
      [...rowsOf("findings"), ...(tables.differences ? rowsOf("differences") : [])]
        .map(r => r.key)
        .filter(k => k),
    ),
  ];
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
  svg.addEventListener("pointerleave", () => {
    $("tip").hidden = true;
  });
  svg.addEventListener("focusin", e => {
    const g = keyed(e),
      box = g?.getBoundingClientRect();
    if (g?.matches(":focus-visible"))
      showTip(map, g.dataset.key, box.left + Math.min(box.width, 120), box.bottom - 8);
  });
  svg.addEventListener("focusout", () => {
    $("tip").hidden = true;
  });
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
      (e.key === "ArrowRight" && (it.group || it.node.kids.length))
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
  addEventListener("pointerup", () => {
    drag = null;
  });
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
    $("tip").hidden = true;
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
};
$("theme").onclick = () => {
  state.theme = document.documentElement.hasAttribute("data-dark") ? "light" : "dark";
  paint();
};
$("layout").onchange = () => {
  state.layout = $("layout").value;
  panes.forEach(p => {
    p.byHand = false;
  });
  paint();
};
$("by").onchange = () => {
  state.by = $("by").value;
  paint();
};
$("find").oninput = () => {
  /* at once when what stands there is a name */
  if (maps.some(m => m.byName.has($("find").value.trim()))) select($("find").value.trim());
};
$("find").onchange = () => {
  if ($("find").value.trim() !== state.select) select($("find").value.trim());
};
addEventListener("hashchange", readAddress);
let later = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(later);
  later = requestAnimationFrame(paint);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
matchMedia("print").addEventListener("change", paint);

fillHead();
standard = { layout: state.layout, by: "findings", tab: state.tab, theme: "", day: state.day, find: "" };
readAddress();
document.body.dataset.ready = "1";
