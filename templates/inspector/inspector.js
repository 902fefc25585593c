// The inspector: live pages, keys, light and dark. It writes no HTML of its own: parts of pages come from the server, which
// has escaped them.
"use strict";

const page = document.documentElement;

// light and dark

function setTheme(theme) {
  if (theme) page.dataset.theme = theme;
}

function stored(value) {
  try {
    if (value === undefined) return localStorage.getItem("engine-theme");
    localStorage.setItem("engine-theme", value);
  } catch { /* storage may be closed */ }
  return value;
}

function switchTheme() {
  const now = page.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  setTheme(stored(now === "dark" ? "light" : "dark"));
}

setTheme(stored());
document.getElementById("theme").addEventListener("click", switchTheme);

// keys

const help = document.getElementById("help");
document.getElementById("keys").addEventListener("click", () => help.showModal());

function items() {
  return [...document.querySelectorAll("[data-item]")].filter((each) => each.offsetParent !== null);
}

function goTo(item) {
  const target = item.matches("tr") ? item.querySelector("a, summary") || item : item;
  target.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
}

function move(by) {
  const all = items();
  const at = all.findIndex((each) => each.contains(document.activeElement));
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  if (next) goTo(next);
}

let before = "";
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, dialog[open]");
  if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
  const item = document.activeElement.closest("[data-item]");
  const press = {
    j: () => move(1),
    k: () => move(-1),
    o: () => { const fold = item && item.querySelector("details"); if (fold) fold.open = !fold.open; },
    Enter: () => { const link = item === document.activeElement && item.querySelector("a"); if (link) link.click(); },
    "[": () => { const link = document.querySelector("a[rel=prev]"); if (link) link.click(); },
    "]": () => { const link = document.querySelector("a[rel=next]"); if (link) link.click(); },
    "/": () => { const field = document.querySelector("input[type=search], textarea"); if (field) field.focus(); },
    t: switchTheme,
    "?": () => help.showModal(),
  };
  if (before === "g") {
    const link = document.querySelector(`.top a[data-key="${CSS.escape(event.key)}"]`);
    before = "";
    if (link) link.click();
    return;
  }
  before = event.key === "g" ? "g" : "";
  const act = press[event.key];
  if (act) {
    if (event.key !== "Enter" || item === document.activeElement) event.preventDefault();
    act();
  }
});

// An edited text is meant to be written: the box beside it is ticked.
for (const text of document.querySelectorAll("textarea[name=body]")) {
  text.addEventListener("input", () => { text.form.elements.edited.checked = true; });
}

// live: when something has happened, the page is fetched again, and the parts that differ take the place of the old ones

const live = document.getElementById("live");
let due = false;
let fetching = false;
let pause = 400;

function foldName(fold) {
  return fold.id || fold.querySelector("summary").textContent;
}

function keepFolds(old, fresh) {
  const open = new Map([...old.querySelectorAll("details")].map((fold) => [foldName(fold), fold.open]));
  for (const fold of fresh.querySelectorAll("details")) {
    const name = foldName(fold);
    if (open.has(name)) fold.open = open.get(name);
  }
}

function isBusy(part) {
  return part.contains(document.activeElement) && document.activeElement.closest("input, textarea, select")
    || [...part.querySelectorAll("textarea, input[type=text]")].some((field) => field.value !== field.defaultValue);
}

function replace(old, fresh) {
  keepFolds(old, fresh);
  if (old.outerHTML === fresh.outerHTML || isBusy(old)) return;
  const focused = old.contains(document.activeElement) && document.activeElement.id;
  const scrolled = old.scrollLeft;
  old.replaceWith(fresh);
  fresh.scrollLeft = scrolled;
  if (focused) { const again = document.getElementById(focused); if (again) again.focus({ preventScroll: true }); }
}

function replaceList(old, fresh) {
  const had = new Map([...old.children].map((each) => [each.id, each]));
  let place = old.firstElementChild;
  for (const part of [...fresh.children]) {
    const same = part.id && had.get(part.id);
    if (same) {
      had.delete(part.id);
      if (same !== place) old.insertBefore(same, place); else place = place.nextElementSibling;
      replace(same, part);
    } else {
      old.insertBefore(part, place);
    }
  }
  for (const gone of had.values()) if (!isBusy(gone)) gone.remove();
}

async function refresh() {
  if (fetching || document.hidden) { due = true; return; }
  fetching = true;
  due = false;
  const began = performance.now();
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "error" });
    if (answer.ok) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of fresh.querySelectorAll("[data-live], [data-live-list]")) {
        const old = document.getElementById(part.id);
        if (old) (part.hasAttribute("data-live-list") ? replaceList : replace)(old, part);
      }
      live.classList.remove("beat");
      void live.offsetWidth;
      live.classList.add("beat");
    }
  } catch { /* the server is gone; the stream says so */ }
  // a page that takes long to make is asked for less often; one that is not whole yet at once
  const more = document.querySelector("[data-more]") !== null;
  pause = more ? 50 : Math.max(400, (performance.now() - began) * 5);
  setTimeout(() => { fetching = false; if (due || more) refresh(); }, pause);
}

function follow() {
  const stream = new EventSource(document.body.dataset.events);
  const run = document.body.dataset.run;
  stream.addEventListener("open", () => { live.className = "live on"; live.setAttribute("aria-label", "Live"); });
  stream.addEventListener("error", () => { live.className = "live off"; live.setAttribute("aria-label", "Not connected"); });
  stream.addEventListener("changed", (event) => {
    const runs = JSON.parse(event.data).runs;
    if (!run || !runs || runs.includes(run)) refresh();
  });
  addEventListener("pagehide", () => stream.close());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
}

document.addEventListener("visibilitychange", () => { if (!document.hidden && due) refresh(); });
if (document.body.dataset.events && document.querySelector("[data-live], [data-live-list]")) follow();
if (document.querySelector("[data-more]")) refresh();
