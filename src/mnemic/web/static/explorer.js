// Keyboard: arrows go through a drawing, / asks, j and k go through a list, Enter opens. On the plane of feelings, sliders and clicks move the mood.
"use strict";
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
  }
});
for (const drawing of document.querySelectorAll(".drawing svg")) {
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
