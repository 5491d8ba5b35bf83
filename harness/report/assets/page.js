// Light or dark: as the system says until somebody chooses; always light on paper.
"use strict";
const tutti = {};
tutti.look = (() => {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)"), listeners = [];
  let chosen = null, printing = false;
  const dark = () => !printing && (chosen ?? system.matches);
  function apply() {
    root.dataset.look = dark() ? "dark" : "light";
    for (const listener of listeners) listener();
  }
  root.dataset.look = dark() ? "dark" : "light";
  system.addEventListener("change", apply);
  addEventListener("beforeprint", () => {
    printing = true;
    for (const part of document.querySelectorAll("details.paper")) part.open = true;
    apply();
  });
  addEventListener("afterprint", () => { printing = false; apply(); });
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("look");
    if (button) button.addEventListener("click", () => { chosen = !dark(); apply(); });
  });
  return { dark, printing: () => printing, listen: (call) => listeners.push(call), choose: (value) => { chosen = value; apply(); } };
})();
tutti.make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};
