// Start: the diagram first, the state below it when there is time.
"use strict";
// Several diagrams on one page show the same stretch of time.
tutti.link = (diagrams) => {
  for (const one of diagrams) one.range.change.connect(() => {
    const { start, end } = one.range;
    for (const other of diagrams) if (other.range.start !== start || other.range.end !== end) other.range.setv({ start, end });
  });
};
addEventListener("DOMContentLoaded", async () => {
  const begin = performance.now(), timing = tutti.timing = {};
  Bokeh.set_log_level("error");
  try {
    tutti.explorers = [];
    for (const root of document.querySelectorAll("[data-columns]")) {
      const scene = await tutti.unpack(document.getElementById(root.dataset.columns).textContent);
      timing.unpacked = performance.now();
      const explorer = new tutti.Explorer(new tutti.Model(scene), root);
      timing.modelled = performance.now();
      tutti.explorers.push(explorer);
      await explorer.show();
    }
    tutti.link(tutti.explorers.map(({ diagram }) => diagram));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    timing.painted = performance.now();
    timing.scripts = begin;
    document.documentElement.dataset.state = "painted";
    for (const explorer of tutti.explorers) await explorer.showStates();
    document.documentElement.dataset.state = "ready";
  } catch (error) {
    document.documentElement.dataset.state = "failed";
    throw error;
  }
});
