// Keyboard: arrows go through a drawing, / asks, j and k go through a list, Enter opens, y confirms. On the plane of feelings, sliders and
// clicks move the mood.
"use strict";
let playing = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "/") {
    document.getElementById("ask").focus();
    event.preventDefault();
  } else if (event.key === "j" || event.key === "k") {
    const links = [...document.querySelectorAll(".items .item a.text")];
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    const next = event.key === "j" ? at + 1 : at - 1;
    links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : next))].focus();
  } else if (event.key === "y") {
    document.activeElement.closest(".item")?.querySelector("button.confirm")?.click();
  }
});
htmx.onLoad((part) => {
  for (const drawing of part.querySelectorAll(".drawing svg")) {
    const links = [...drawing.querySelectorAll("a")];
    links.forEach((link, at) => link.setAttribute("tabindex", at ? "-1" : "0"));
    drawing.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = links[links.indexOf(document.activeElement) + (step || 0)];
      if (!step || !next) return;
      document.activeElement.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
      event.preventDefault();
    });
  }
  for (const drawing of part.querySelectorAll("svg.timeline")) zoomable(drawing);
  const button = part.querySelector("#play");
  if (!button) return;
  button.hidden = false;
  button.textContent = playing ? "Stop" : "Play";
  button.addEventListener("click", () => {
    playing = !playing;
    button.textContent = playing ? "Stop" : "Play";
    if (playing) step();
  });
  if (playing) setTimeout(step, 350);
});
function step() {
  const slider = document.getElementById("at");
  if (!playing || !slider) return;
  const [value, last] = [Number(slider.value), Number(slider.max)];
  playing = value < last;
  slider.value = playing ? Math.min(last, value + Math.max(1, Math.round(last / 60))) : 0;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
}
// Drag over the timeline to see a part of it.
function zoomable(drawing) {
  const { since, days } = drawing.closest(".drawing").dataset;
  let from = null, mark = null;
  const at = (event) => {
    const box = drawing.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  drawing.addEventListener("dragstart", (event) => event.preventDefault());
  drawing.addEventListener("pointerdown", (event) => { if (event.button === 0) from = at(event); });
  drawing.addEventListener("pointermove", (event) => {
    if (from === null || (!mark && Math.abs(at(event) - from) < 0.01)) return;
    if (!mark) {
      mark = document.createElementNS(drawing.namespaceURI, "rect");
      mark.setAttribute("class", "zoom");
      mark.setAttribute("height", "100%");
      drawing.append(mark);
      drawing.setPointerCapture(event.pointerId);
    }
    mark.setAttribute("x", 1000 * Math.min(from, at(event)));
    mark.setAttribute("width", 1000 * Math.abs(at(event) - from));
  });
  drawing.addEventListener("pointerup", (event) => {
    const ends = [from, at(event)].sort((one, other) => one - other);
    from = null;
    if (!mark) return;
    const day = (share) => new Date(Date.parse(since) + 86400000 * Math.min(days - 1, Math.floor(share * days)));
    const where = new URL(location.href);
    [where.search, where.hash] = ["", ""];
    ["since", "until"].forEach((name, end) => where.searchParams.set(name, day(ends[end]).toISOString().slice(0, 10)));
    location.assign(where);
  });
}
// A hit and its line of the prompt belong together.
for (const [type, on] of [["mouseover", true], ["focusin", true], ["mouseout", false], ["focusout", false]]) {
  document.addEventListener(type, (event) => {
    const hit = event.target.closest?.("[data-hit]")?.dataset.hit;
    if (hit) document.querySelectorAll(`[data-hit="${CSS.escape(hit)}"]`).forEach((part) => part.classList.toggle("tied", on));
  });
}
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a.copy");
  if (!link || !navigator.clipboard) return;
  event.preventDefault();
  await navigator.clipboard.writeText(await (await fetch(link.href)).text());
  link.textContent = "Copied as Markdown";
});
const budget = document.getElementById("budget");
if (budget) budget.addEventListener("input", () => { document.getElementById("tokens").value = budget.value; });
const plane = document.querySelector("svg.plane");
if (plane) {
  const circle = plane.querySelector(".mood");
  const sliders = ["valence", "arousal"].map((id) => document.getElementById(id));
  const move = () => {
    circle.setAttribute("cx", 210 + 190 * Number(sliders[0].value));
    circle.setAttribute("cy", 210 - 190 * Number(sliders[1].value));
  };
  sliders.forEach((slider) => slider.addEventListener("input", move));
  plane.addEventListener("click", (event) => {
    if (event.target.closest("a")) return;
    const box = plane.getBoundingClientRect();
    sliders[0].value = (((event.clientX - box.left) / box.width) * 420 - 210) / 190;
    sliders[1].value = (210 - ((event.clientY - box.top) / box.height) * 420) / 190;
    move();
  });
}
