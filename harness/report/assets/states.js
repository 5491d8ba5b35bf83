// The state of the machines as small multiples on the diagram's own time axis.
"use strict";
tutti.States = class {
  constructor(diagram, target) {
    Object.assign(this, { diagram, model: diagram.model, target, charts: [] });
  }
  async build() {
    const { model, diagram } = this, count = model.nodes.length;
    for (const [index, [name, meaning, levels]] of model.about.series.entries()) {
      const holder = tutti.make("div", { class: "state", role: "img", "aria-label": `${name}: ${meaning}` });
      const value = tutti.make("span", { class: "readout mono" });
      this.target.append(tutti.make("div", { class: "statehead" }, tutti.make("b", {}, name), tutti.make("span", { class: "soft" }, " " + meaning), value), holder);
      const source = new Bokeh.ColumnDataSource({ data: { xs: [], ys: [], c: [] } });
      const rows = new Bokeh.Range1d({ start: 0, end: 1 }), range = new Bokeh.Range1d({ start: 0, end: 1 }), ticker = new Bokeh.FixedTicker({ ticks: [] });
      const fig = new Bokeh.Plotting.Figure({ x_range: range, y_range: rows, tools: [], toolbar_location: null,
        sizing_mode: "stretch_width", height: levels.length ? 40 + 17 * Math.max(2, levels.length) : 96, min_border_left: 84, min_border_right: 14, min_border_top: 4, min_border_bottom: 6 });
      fig.multi_line({ source, xs: { field: "xs" }, ys: { field: "ys" }, line_color: { field: "c" }, line_width: 1.7, line_alpha: .85 });
      fig.xaxis.visible = false;
      fig.xgrid.ticker = ticker; fig.xaxis.ticker = ticker;
      fig.yaxis.ticker = levels.length ? new Bokeh.FixedTicker({ ticks: levels.map((_, level) => level) }) : new Bokeh.BasicTicker({ desired_num_ticks: 3 });
      if (levels.length) fig.yaxis.major_label_overrides = new Map(levels.map((word, level) => [level, word.length > 9 ? word.slice(0, 8) + "…" : word]));
      fig.yaxis.minor_tick_line_color = null;
      this.charts.push({ near: true, stale: true, holder, index, levels, fig, source, rows, range, ticker, value, first: index * count });
      const view = await Bokeh.Plotting.show(fig, holder);
      this.charts.at(-1).view = Array.isArray(view) ? view[0] : view;
    }
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) this.charts.find((chart) => chart.holder === entry.target).near = entry.isIntersecting;
      this.refresh();
    }, { rootMargin: "300px" });
    for (const chart of this.charts) watch.observe(chart.holder);
    this.paint();
    tutti.look.listen(() => {
      if (tutti.look.printing()) for (const chart of this.charts) chart.near = true;
      this.paint();
      this.update();
      tutti.paintForPaper(() => this.charts.map(({ view }) => view));
    });
    diagram.range.change.connect(() => this.schedule());
    this.update();
  }
  paint() {
    const k = tutti.colours();
    for (const { fig } of this.charts) {
      Object.assign(fig, { background_fill_color: k.paper, border_fill_color: k.paper, outline_line_color: k.grid, border_line_color: null });
      Object.assign(fig.yaxis, { major_label_text_color: k.soft, axis_line_color: k.lane, major_tick_line_color: k.lane, major_label_text_font_size: "10px" });
      fig.xgrid.grid_line_color = k.grid; fig.ygrid.grid_line_color = k.grid;
    }
  }
  // The diagram comes first: the charts follow when it has come to rest, those on the screen before the others.
  schedule() {
    clearTimeout(this.pending);
    this.pending = setTimeout(() => this.update(), 110);
  }
  stretch(first, lane, from, to) {
    const { steps } = this.model, begin = steps.start[first + lane], end = steps.start[first + lane + 1];
    const times = steps.time.subarray(begin, end), values = steps.value.subarray(begin, end);
    return { times, values, low: Math.max(0, tutti.lowerBound(times, from) - 1), high: Math.min(times.length, tutti.lowerBound(times, to) + 1) };
  }
  update() {
    if (this.model.axis.mode === "causal") return;
    for (const chart of this.charts) chart.stale = true;
    this.refresh();
  }
  refresh() {
    for (const chart of this.charts) if (chart.stale && chart.near) this.draw(chart);
  }
  draw(chart) {
    const { model, diagram } = this, axis = model.axis, { start, end } = diagram.range, colours = tutti.colours().types;
    chart.stale = false;
    const from = axis.time(start), to = axis.time(end), pixel = (end - start) / diagram.width();
    chart.range.setv({ start, end });
    chart.ticker.ticks = diagram.ticker.ticks;
    const data = { xs: [], ys: [], c: [] };
    let least = Infinity, most = -Infinity;
    for (const node of model.shownNodes) {
      const lane = model.lane[node], { times, values, low, high } = this.stretch(chart.first, lane, from, to), xs = [], ys = [];
      let last = null, lastX = -Infinity, min = 0, max = 0;
      for (let i = low; i < high; i++) {
        const x = axis.place(times[i]), value = values[i];
        least = Math.min(least, value); most = Math.max(most, value);
        if (x - lastX < pixel && last !== null) {  // within one pixel: the extent of what it did there
          if (value < min || value > max) { min = Math.min(min, value); max = Math.max(max, value); xs.push(lastX); ys.push(value); }
          last = value;
          continue;
        }
        if (last !== null) { xs.push(x); ys.push(last); }
        xs.push(x); ys.push(value);
        last = min = max = value; lastX = x;
      }
      if (last !== null) { xs.push(Math.max(end, lastX)); ys.push(last); }
      const shift = chart.levels.length ? (lane - (model.nodes.length - 1) / 2) * .5 / Math.max(4, model.nodes.length) : 0;
      data.xs.push(xs); data.ys.push(shift ? ys.map((y) => y + shift) : ys); data.c.push(colours[lane % colours.length]);
    }
    chart.source.data = data;
    const room = chart.levels.length ? .45 : Math.max((most - least) * .12, Math.abs(most) * 1e-3, 1e-3);
    if (most >= least) chart.rows.setv({ start: (chart.levels.length ? 0 : least) - room, end: (chart.levels.length ? chart.levels.length - 1 : most) + room });
  }
  point(x) {
    const { model } = this, axis = model.axis;
    for (const chart of this.charts) {
      const parts = [];
      if (x !== null && axis.mode !== "causal") {
        const time = axis.time(x);
        for (const node of model.shownNodes.slice(0, 12)) {
          const { times, values } = this.stretch(chart.first, model.lane[node], time, time), i = tutti.lowerBound(times, time + 1) - 1;
          if (i >= 0) parts.push(`n${node} ${chart.levels.length ? chart.levels[values[i]] : +values[i].toFixed(3)}`);
        }
      }
      chart.value.textContent = parts.join("   ");
    }
  }
};
