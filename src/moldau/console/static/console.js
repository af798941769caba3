"use strict";
// The console's one script: pages stay as the server makes them, this keeps them fresh and reachable by keys.

const main = () => document.querySelector("main");

// ---- live: the same page is asked for again, and what differs is put in ----------------------------------------------

const KEPT = new Set(["INPUT", "SELECT", "TEXTAREA", "DIALOG", "FORM"]);

function morph(here, there) {
  if (here.nodeType === Node.TEXT_NODE) {
    if (here.data !== there.data) here.data = there.data;
    return;
  }
  if (here.nodeType !== Node.ELEMENT_NODE || here.hasAttribute("data-keep")) return;
  if (KEPT.has(here.tagName)) return; // somebody may be filling it in
  for (const name of here.getAttributeNames()) {
    if (!there.hasAttribute(name) && name !== "open" && name !== "aria-selected") here.removeAttribute(name);
  }
  for (const name of there.getAttributeNames()) {
    if (here.getAttribute(name) !== there.getAttribute(name)) here.setAttribute(name, there.getAttribute(name));
  }
  const old = [...here.childNodes], fresh = [...there.childNodes];
  fresh.forEach((child, index) => {
    const known = old[index];
    if (known === undefined) here.append(document.importNode(child, true));
    else if (known.nodeType === child.nodeType && known.nodeName === child.nodeName) morph(known, child);
    else known.replaceWith(document.importNode(child, true));
  });
  old.slice(fresh.length).forEach((child) => child.remove());
}

let failures = 0;
let timer = 0;

function schedule() {
  clearTimeout(timer);
  const seconds = Number(main()?.dataset.refresh || 0);
  if (seconds > 0) timer = setTimeout(refresh, seconds * 1000 * Math.min(2 ** failures, 8));
}

async function refresh() {
  if (document.hidden || document.querySelector("dialog[open]")) return schedule();
  try {
    const answer = await fetch(location.href, { headers: { "x-live": "1" }, signal: AbortSignal.timeout(15000) });
    if (answer.redirected && new URL(answer.url).pathname === "/login") return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("main");
    if (fresh) {
      for (const id of ["main", "state"]) {
        const part = page.getElementById(id);
        if (part && document.getElementById(id)) morph(document.getElementById(id), part);
      }
    }
    failures = 0;
  } catch {
    failures += 1;
  }
  document.getElementById("lost")?.classList.toggle("hidden", failures < 2);
  schedule();
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });

// ---- records as they come --------------------------------------------------------------------------------------------

const MOST_ROWS = 500;
let passedOver = 0;

async function follow() {
  const table = document.querySelector("[data-follow]");
  if (!table) return;
  let wait = 1000;
  if (!document.hidden && table.dataset.paused !== "true") {
    try {
      const answer = await fetch(table.dataset.follow + "&at=" + encodeURIComponent(table.dataset.at), { signal: AbortSignal.timeout(15000) });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.querySelector("table");
      if (answer.ok && found) {
        table.dataset.at = found.dataset.at;
        const body = table.querySelector("tbody");
        for (const row of [...found.querySelectorAll("tbody > tr")]) {
          row.classList.add("fresh");
          body.prepend(document.importNode(row, true));
        }
        while (body.children.length > MOST_ROWS) body.lastElementChild.remove();
        const shown = document.getElementById("following");
        passedOver += Number(found.dataset.passedOver);
        if (shown && body.children.length) {
          shown.textContent = body.children.length + " shown" + (passedOver ? ", " + passedOver.toLocaleString("en") + " passed over" : "");
        }
      } else wait = 5000;
      failures = 0;
    } catch { failures += 1; wait = 5000; }
    document.getElementById("lost")?.classList.toggle("hidden", failures < 2);
  }
  setTimeout(follow, wait);
}

// ---- keys -------------------------------------------------------------------------------------------------------------

const PLACES = { o: "/", b: "/brokers", q: "/quorum", t: "/topics", c: "/groups", h: "/share-groups", x: "/transactions",
  s: "/settings", u: "/users", a: "/acls", l: "/quotas", d: "/tokens", p: "/pipelines", e: "/explain" };
let going = 0;

function rows() { return [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector("a[href]")); }

function select(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.getAttribute("aria-selected") === "true");
  const next = Math.min(Math.max(at + step, 0), all.length - 1);
  all.forEach((row) => row.removeAttribute("aria-selected"));
  all[next].setAttribute("aria-selected", "true");
  all[next].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.("input, select, textarea");
  if (event.key === "Escape" && typing) { event.target.blur(); return; }
  if (event.key === "Enter" && event.target.matches?.("[data-find]")) { event.preventDefault(); return; }
  if (typing || document.querySelector("dialog[open]")) return;
  if (going && Date.now() - going < 1500 && PLACES[event.key]) { location.href = PLACES[event.key]; return; }
  going = 0;
  const chosen = document.querySelector('main tr[aria-selected="true"]');
  switch (event.key) {
    case "/": document.querySelector("[data-search]")?.focus(); document.querySelector("[data-search]")?.select(); break;
    case "?": document.getElementById("keys")?.showModal(); break;
    case "j": select(1); break;
    case "k": select(-1); break;
    case "Enter": if (chosen && event.target === document.body) { chosen.querySelector("a[href]").click(); break; } return;
    case "n": document.querySelector("a[rel=next]")?.click(); break;
    case "p": document.querySelector("a[rel=prev]")?.click(); break;
    case "d": toggleTheme(); break;
    case "g": going = Date.now(); break;
    default: return;
  }
  event.preventDefault();
});

// ---- light and dark, menu, dialogs, filters ---------------------------------------------------------------------------

function toggleTheme() {
  const now = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  document.cookie = `moldau-theme=${next}; path=/; max-age=31536000; samesite=lax`;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-do]");
  if (!button) return;
  switch (button.dataset.do) {
    case "theme": toggleTheme(); break;
    case "keys": document.getElementById("keys").showModal(); break;
    case "close": button.closest("dialog").close(); break;
    case "menu": {
      const open = document.querySelector(".side").classList.toggle("open");
      button.setAttribute("aria-expanded", String(open));
      break;
    }
    case "pause": {
      const table = document.querySelector("[data-follow]");
      const paused = table.dataset.paused !== "true";
      table.dataset.paused = String(paused);
      button.textContent = paused ? "Go on" : "Pause";
      break;
    }
  }
});

// In a long form: only the fields with this in their name.
document.addEventListener("input", (event) => {
  if (!event.target.matches?.("[data-find]")) return;
  const word = event.target.value.trim().toLowerCase();
  for (const each of document.querySelectorAll("[data-name]")) each.classList.toggle("hidden", !each.dataset.name.includes(word));
});

// A filter acts while it is typed; a choice acts at once.
let typing = 0;
document.addEventListener("input", (event) => {
  const form = event.target.closest?.("form[data-filter]");
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(() => filter(form), event.target.matches("input[type=search]") ? 250 : 0);
});

async function filter(form) {
  const words = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...words]) if (!value) words.delete(name);
  history.replaceState(null, "", location.pathname + (words.size ? "?" + words : ""));
  await refresh();
}

document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-filter]")) { event.preventDefault(); filter(event.target); return; }
  if (event.target.method === "post") {
    // Twice the same order would be one too many.
    setTimeout(() => event.target.querySelectorAll("button").forEach((button) => { button.disabled = true; }), 0);
  }
});
// A choice in a form that is sent by a button sends it as well.
document.addEventListener("change", (event) => { if (event.target.matches?.("[data-submit]")) event.target.form.requestSubmit(); });
addEventListener("pageshow", () => document.querySelectorAll("form[method=post] button").forEach((button) => { button.disabled = false; }));

// The way in that was printed at the start carries the token behind the #, where no server sees it.
if (location.pathname === "/login" && location.hash.length > 1) {
  addEventListener("DOMContentLoaded", () => {
    document.querySelector("input[name=password]").value = decodeURIComponent(location.hash.slice(1));
    history.replaceState(null, "", "/login");
    document.querySelector("form").submit();
  });
}

addEventListener("DOMContentLoaded", () => { schedule(); follow(); });
