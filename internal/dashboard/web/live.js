// Follows what the page shows. What a person has open, and where they are, stays.
"use strict";
const said = document.getElementById("live");
const say = (text) => { if (said.textContent !== text) said.textContent = text; };

const replace = (html) => {
  const main = document.getElementById("content");
  const fresh = new DOMParser().parseFromString(html, "text/html").body;
  for (const old of main.querySelectorAll("details[id]")) {
    const now = fresh.querySelector("#" + CSS.escape(old.id));
    if (now) now.open = old.open;
  }
  const focused = document.activeElement && document.activeElement.id;
  main.replaceChildren(...fresh.childNodes);
  const again = focused && main.querySelector("#" + CSS.escape(focused));
  if (again) again.focus({ preventScroll: true });
};

const path = document.body.dataset.live;
if (path) {
  const stream = new EventSource(path + "?seen=" + document.body.dataset.seen);
  stream.addEventListener("open", () => say("Live"));
  stream.addEventListener("page", (e) => {
    replace(JSON.parse(e.data));
    say("Live: changed at " + new Date().toLocaleTimeString());
  });
  stream.addEventListener("trouble", (e) => say("Not live: " + JSON.parse(e.data)));
  stream.addEventListener("error", () => say("Not live: the dashboard does not answer; trying again"));
}

// "5m" is true when it is written; hold it true.
const age = (seconds) => {
  const [m, h, d] = [Math.floor(seconds / 60), Math.floor(seconds / 3600), Math.floor(seconds / 86400)];
  if (seconds < 120) return Math.max(0, Math.floor(seconds)) + "s";
  if (m < 10 && Math.floor(seconds % 60)) return m + "m" + Math.floor(seconds % 60) + "s";
  if (m < 180) return m + "m";
  if (h < 8 && m % 60) return h + "h" + (m % 60) + "m";
  if (h < 48) return h + "h";
  if (d < 8 && h % 24) return d + "d" + (h % 24) + "h";
  return d < 730 ? d + "d" : Math.floor(d / 365) + "y";
};
setInterval(() => {
  for (const t of document.querySelectorAll("time[datetime]")) {
    const text = age((Date.now() - Date.parse(t.dateTime)) / 1000);
    if (t.textContent !== text) t.textContent = text;
  }
}, 1000);
