"use strict";
/* What pages do beyond what they are without a script: lists are asked for again while jobs run, and
   plots tell their values and can be zoomed. */
(() => {
const all = (selector, from = document) => [...from.querySelectorAll(selector)];

/* ---- lists that go on ---- */
const main = document.querySelector("main");
const choices = [["no refresh", 0], ["each 10 s", 10], ["each minute", 60]];

async function refresh() {
  if (document.hidden || main.querySelector(".list details[open]") || main.contains(document.activeElement) && document.activeElement.matches("input, select"))
    return;
  const answer = await fetch(location.href, {credentials: "same-origin"}).catch(() => null);
  if (!answer || !answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
  if (!fresh.querySelector(".list, .none")) return location.reload(); /* signed out */
  const parts = ".list tbody, .pages", old = all(parts, main), anew = all(parts, fresh);
  if (old.length != anew.length) return location.reload(); /* there was none, or there is none any more */
  const focused = document.activeElement.href;
  old.forEach((one, i) => one.replaceWith(document.importNode(anew[i], true)));
  if (focused && document.activeElement == document.body) all("a", main).find(a => a.href == focused)?.focus({preventScroll: true});
  describeTimes();
}

function offerRefresh() {
  const head = document.querySelector(".list-head");
  if (!head || !["/jobs", "/files", "/nodes"].includes(location.pathname)) return;
  const select = document.createElement("select");
  let timer = 0;
  select.setAttribute("aria-label", "Refresh");
  choices.forEach(([words, seconds]) => select.add(new Option(words, seconds)));
  select.value = localStorage.getItem("refresh") ?? (document.querySelector(".runs") ? "60" : "0");
  const start = () => {
    clearInterval(timer);
    if (+select.value) timer = setInterval(refresh, 1000 * select.value);
  };
  select.addEventListener("change", () => { localStorage.setItem("refresh", select.value); start(); });
  head.append(select);
  start();
}

function describeTimes() {
  all("time").forEach(t => { t.title = new Date(t.dateTime).toLocaleString() + " here"; });
}

/* ---- plots ---- */
const WIDTH = 1000, HEIGHT = 120;
let from = 0, to = 1; /* what is shown, as shares of the whole */
let plots = [];

function duration(s) {
  if (s < 60) return (s < 10 ? s.toFixed(1) : Math.round(s)) + " s";
  const m = Math.floor(s / 60);
  return m < 60 ? `${m} m ${Math.round(s % 60)} s` : `${Math.floor(m / 60)} h ${m % 60} m`;
}

function amount(value, plot) {
  const kind = +plot.dataset.kind, units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  if (kind != 1 && kind != 2)
    return (value < 10 ? value.toFixed(1) : Math.round(value)) + (kind == 4 ? " W" : plot.dataset.unit);
  while (value >= 1024 && i < units.length - 1) { value /= 1024; i++; }
  return (value < 10 ? value.toFixed(1) : Math.round(value)) + " " + units[i] + (kind == 2 ? "/s" : "");
}

/* Where the uppermost of the areas is, by asking the areas. */
function valueAt(plot, share) {
  const areas = all("path", plot.querySelector("svg")), point = plot.createSVGPoint();
  point.x = share * WIDTH;
  const isIn = y => { point.y = y; return areas.some(area => area.isPointInFill(point)); };
  let below = 0, above;
  while (below < HEIGHT && !isIn(below)) below++;
  above = below - 1;
  for (let i = 0; i < 10; i++) {
    const half = (above + below) / 2;
    if (isIn(half)) below = half; else above = half;
  }
  return Math.max(0, HEIGHT - below) / HEIGHT * plot.dataset.top;
}

function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}

function point(share) { /* of what is shown; null: nowhere */
  plots.forEach(plot => {
    all(".cursor", plot).forEach(one => one.remove());
    if (share === null) return;
    const at = from + share * (to - from), x = 100 * share + "%";
    const text = svg("text", {class: "cursor", x, y: 14, dx: share > .7 ? -6 : 6, "text-anchor": share > .7 ? "end" : "start"});
    text.textContent = `${duration(at * plot.dataset.span)}: ${amount(valueAt(plot, at), plot)}`;
    plot.append(svg("line", {class: "cursor base", x1: x, x2: x, y1: 0, y2: HEIGHT}), text);
  });
}

function zoom(a, b) {
  [from, to] = b - a < .005 ? [0, 1] : [Math.max(0, a), Math.min(1, b)];
  const whole = from == 0 && to == 1;
  plots.forEach(plot => {
    plot.querySelector("svg").setAttribute("viewBox", `${from * WIDTH} 0 ${(to - from) * WIDTH} ${HEIGHT}`);
    all("text", plot).filter(t => t.getAttribute("y") > HEIGHT).forEach(t => t.classList.contains("zoomed") ? t.remove() : t.toggleAttribute("hidden", !whole));
    if (!whole)
      [[from, "0%", "start"], [to, "100%", "end"]].forEach(([share, x, anchor]) => {
        const text = svg("text", {class: "zoomed", x, y: HEIGHT + 14, "text-anchor": anchor});
        text.textContent = duration(share * plot.dataset.span);
        plot.append(text);
      });
  });
  point(null);
}

function watch(plot) {
  let begun = null;
  const share = event => {
    const box = plot.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const whole = part => from + part * (to - from);
  plot.setAttribute("tabindex", "0");
  plot.addEventListener("pointermove", event => point(share(event)));
  plot.addEventListener("pointerleave", () => { begun = null; point(null); });
  plot.addEventListener("pointerdown", event => { begun = whole(share(event)); });
  plot.addEventListener("pointerup", event => {
    const end = whole(share(event));
    if (begun !== null && Math.abs(end - begun) >= .005) zoom(Math.min(begun, end), Math.max(begun, end));
    begun = null;
  });
  plot.addEventListener("dblclick", () => zoom(0, 1));
  plot.addEventListener("keydown", event => {
    const width = to - from, step = width / 4;
    const keys = {"+": [from + step, to - step], "-": [from - width / 2, to + width / 2], Escape: [0, 1],
      ArrowLeft: [from - Math.min(step, from), to - Math.min(step, from)], ArrowRight: [from + Math.min(step, 1 - to), to + Math.min(step, 1 - to)]};
    if (!keys[event.key]) return;
    event.preventDefault();
    zoom(...keys[event.key]);
  });
}

/* ---- keys ---- */
document.addEventListener("keydown", event => {
  const rows = all(".list tbody th a"), at = rows.indexOf(document.activeElement);
  const wanted = {"/": document.querySelector(".filters [name=text]"), j: rows[at + 1], k: rows[at - 1]}[event.key];
  if (!wanted || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
  event.preventDefault();
  wanted.focus();
});

plots = all("svg.plot[data-span]");
plots.forEach(watch);
if (plots.length) {
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = "Drag over a plot to zoom into all of them, double-click for the whole; keys: +, -, arrows, Escape.";
  plots[0].closest("figure").before(note);
}
offerRefresh();
describeTimes();
})();
