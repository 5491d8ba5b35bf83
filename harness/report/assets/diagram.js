// The space-time diagram, drawn by Bokeh. Of what lies in the visible stretch everything is drawn when it can be told
// apart; when it cannot, every event still counts in a bar of its node and its type. Nothing is ever left out.
"use strict";
// Paper does not wait for the next frame: Bokeh's own promises are let run, then everything is painted at once.
tutti.paintForPaper = async (views) => {
  if (!tutti.look.printing()) return;
  for (let turn = 0; turn < 100; turn++) await null;
  for (const view of views()) view?.paint();
};
tutti.MOST_EDGES = 2600;  // as many copies are drawn one by one
tutti.Diagram = class {
  constructor(model, target, { height, onSelect, onView } = {}) {
    Object.assign(this, { model, target, onSelect, onView, marks: [], bins: null, selected: null, found: [], filled: new Set() });
    this.fixedHeight = height;
    this.build();
  }

  source(...names) { return new Bokeh.ColumnDataSource({ data: Object.fromEntries(names.map((name) => [name, []])) }); }

  // New columns of a source; numbers as typed arrays, which Bokeh takes as they are.
  put(name, columns) {
    const source = this.s[name], [first] = Object.values(columns);
    if (!first.length && !this.filled.has(name)) return;
    this.filled[first.length ? "add" : "delete"](name);
    source.data = Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, typeof column[0] === "number" ? Float64Array.from(column) : column]));
  }

  heightFor(rows) { return this.fixedHeight ?? Math.round(Math.max(230, Math.min(1500, 74 + rows * (rows > 30 ? 26 : rows > 12 ? 44 : rows > 6 ? 70 : 96)))); }

  build() {
    const { model } = this;
    this.range = new Bokeh.Range1d({ start: 0, end: 1 });
    this.rows = new Bokeh.Range1d({ start: -.5, end: 1 });
    this.resetRange();
    const wheel = new Bokeh.WheelZoomTool({ dimensions: "width", speed: 1 / 500 }), pan = new Bokeh.PanTool({ dimensions: "width" });
    const box = new Bokeh.BoxZoomTool({ dimensions: "width" });
    this.tools = { pan, box };
    const fig = this.fig = new Bokeh.Plotting.Figure({
      x_range: this.range, y_range: this.rows, tools: [pan, wheel, box], toolbar_location: null, sizing_mode: "stretch_width",
      height: this.heightFor(model.shownNodes.length), min_border_left: 84, min_border_right: 14, output_backend: "canvas",
    });
    fig.toolbar.active_scroll = wheel; fig.toolbar.active_drag = pan;
    this.ticker = new Bokeh.FixedTicker({ ticks: [] });
    fig.xaxis.ticker = this.ticker;
    this.laneTicker = new Bokeh.FixedTicker({ ticks: [] });
    fig.yaxis.ticker = this.laneTicker;
    fig.xgrid.ticker = this.ticker; fig.ygrid.grid_line_color = null;
    fig.yaxis.major_tick_line_color = null; fig.yaxis.axis_line_color = null; fig.yaxis.minor_tick_line_color = null;
    fig.xaxis.minor_tick_line_color = null;
    const s = this.s = {
      folds: this.source("l", "r"), bands: this.source("l", "r", "b", "t", "c", "a"), bandWords: this.source("x", "y", "w"),
      lanes: this.source("x0", "x1", "y"), bars: this.source("l", "r", "b", "t", "c"),
      ties: this.source("x0", "y0", "x1", "y1", "cx", "cy"), edges: this.source("x0", "y0", "x1", "y1", "c", "w"),
      faint: this.source("x0", "y0", "x1", "y1", "c"), lostEdges: this.source("x0", "y0", "x1", "y1", "c"), bold: this.source("x0", "y0", "x1", "y1", "c"),
      arrivals: this.source("x", "y", "c"), sends: this.source("x", "y", "m", "c", "f", "s"), notes: this.source("x", "y", "m", "c", "f", "s"),
      lost: this.source("x", "y", "s"), words: this.source("x", "y", "w", "c"), foldWords: this.source("x", "y", "w"),
      rings: this.source("x", "y", "s"), chosen: this.source("x", "y"), cursor: this.source("x0", "x1", "y0", "y1"),
    };
    const f = (name) => ({ field: name });
    this.g = {
      folds: fig.quad({ source: s.folds, left: f("l"), right: f("r"), bottom: -1e3, top: 1e3, line_color: null, hatch_pattern: "right_diagonal_line", hatch_scale: 7, hatch_weight: .6 }),
      bands: fig.quad({ source: s.bands, left: f("l"), right: f("r"), bottom: f("b"), top: f("t"), fill_color: f("c"), fill_alpha: f("a"), line_color: f("c"), line_alpha: .55 }),
      lanes: fig.segment({ source: s.lanes, x0: f("x0"), x1: f("x1"), y0: f("y"), y1: f("y"), line_width: 1.6 }),
      bars: fig.quad({ source: s.bars, left: f("l"), right: f("r"), bottom: f("b"), top: f("t"), fill_color: f("c"), line_color: null }),
      ties: fig.quadratic({ source: s.ties, x0: f("x0"), y0: f("y0"), x1: f("x1"), y1: f("y1"), cx: f("cx"), cy: f("cy"), line_dash: "2 3", line_width: 1.5 }),
      faint: fig.segment({ source: s.faint, x0: f("x0"), y0: f("y0"), x1: f("x1"), y1: f("y1"), line_color: f("c"), line_width: .8, line_alpha: .38 }),
      edges: fig.segment({ source: s.edges, x0: f("x0"), y0: f("y0"), x1: f("x1"), y1: f("y1"), line_color: f("c"), line_width: f("w"), line_alpha: .72 }),
      lostEdges: fig.segment({ source: s.lostEdges, x0: f("x0"), y0: f("y0"), x1: f("x1"), y1: f("y1"), line_color: f("c"), line_width: 1.5, line_dash: "5 4" }),
      bold: fig.segment({ source: s.bold, x0: f("x0"), y0: f("y0"), x1: f("x1"), y1: f("y1"), line_color: f("c"), line_width: 3, line_cap: "round" }),
      rings: fig.scatter({ source: s.rings, x: f("x"), y: f("y"), size: f("s"), marker: "circle", line_width: 2.4, fill_alpha: .25 }),
      arrivals: fig.scatter({ source: s.arrivals, x: f("x"), y: f("y"), size: 4.5, marker: "circle", fill_color: f("c"), line_color: null }),
      sends: fig.scatter({ source: s.sends, x: f("x"), y: f("y"), size: f("s"), marker: f("m"), fill_color: f("f"), line_color: f("c"), line_width: 1.5 }),
      notes: fig.scatter({ source: s.notes, x: f("x"), y: f("y"), size: f("s"), marker: f("m"), fill_color: f("f"), line_color: f("c"), line_width: 1.4 }),
      words: fig.text({ source: s.words, x: f("x"), y: f("y"), text: f("w"), text_color: f("c"), text_font_size: "10.5px", x_offset: 5, y_offset: 0, text_baseline: "middle", background_fill_alpha: .72, padding: 1 }),
      lost: fig.scatter({ source: s.lost, x: f("x"), y: f("y"), size: f("s"), marker: "x", line_width: 2.8 }),
      foldWords: fig.text({ source: s.foldWords, x: f("x"), y: f("y"), text: f("w"), text_font_size: "10px", text_align: "center", text_baseline: "bottom" }),
      bandWords: fig.text({ source: s.bandWords, x: f("x"), y: f("y"), text: f("w"), text_font_size: "10.5px", x_offset: 4, y_offset: 2, text_baseline: "top" }),
      chosen: fig.scatter({ source: s.chosen, x: f("x"), y: f("y"), size: 21, marker: "circle", fill_color: null, line_width: 2.4 }),
      cursor: fig.segment({ source: s.cursor, x0: f("x0"), x1: f("x1"), y0: f("y0"), y1: f("y1"), line_width: 2, line_dash: "6 3" }),
    };
    this.range.change.connect(() => this.schedule());
    tutti.look.listen(() => { this.paint(); this.update(); tutti.paintForPaper(() => [this.view]); });
    this.paint();
  }

  resetRange() {
    const length = this.model.axis.length / 1e6, room = Math.max(length * .015, 1e-4);
    this.whole = [-room, length + room];
    this.range.bounds = [-4 * room, length + 4 * room];
    this.setRange(...this.whole);
  }
  setRange(start, end) {
    const least = this.model.axis.mode === "causal" ? 2 : 2e-4, [low, high] = this.whole;
    let span = Math.min(Math.max(end - start, least), high - low);
    const middle = (start + end) / 2;
    start = Math.max(low, Math.min(high - span, middle - span / 2));
    this.range.setv({ start, end: start + span });
  }

  async show() {
    this.view = await Bokeh.Plotting.show(this.fig, this.target);
    if (Array.isArray(this.view)) this.view = this.view[0];
    this.update();
    this.listen();
  }

  // Colours of everything that does not come with its data.
  paint() {
    const { fig, g } = this, k = tutti.colours();
    Object.assign(fig, { background_fill_color: k.paper, border_fill_color: k.paper, outline_line_color: null, border_line_color: null });
    for (const axis of [fig.xaxis, fig.yaxis])
      Object.assign(axis, { major_label_text_color: k.soft, axis_line_color: axis === fig.xaxis ? k.lane : null, major_tick_line_color: axis === fig.xaxis ? k.lane : null, major_label_text_font_size: axis === fig.xaxis ? "11px" : "13px" });
    fig.yaxis.major_label_text_color = k.ink;
    fig.xgrid.grid_line_color = k.grid;
    const set = (name, values) => Object.assign(g[name].glyph, values);
    set("folds", { fill_color: k.fold, fill_alpha: .75, hatch_color: k.lane, hatch_alpha: .35 });
    set("lanes", { line_color: k.lane });
    set("ties", { line_color: k.again });
    set("rings", { line_color: k.mark, fill_color: k.mark });
    set("lost", { line_color: k.lost });
    set("words", { background_fill_color: k.paper });
    set("foldWords", { text_color: k.soft }); set("bandWords", { text_color: k.ink });
    set("chosen", { line_color: k.ink }); set("cursor", { line_color: k.lost });
  }

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.update(); });
  }

  width() { return Math.max(100, (this.view?.frame?.bbox?.width) || this.target.clientWidth - 80); }
  y(node) { return this.shown - 1 - this.model.row[node]; }

  // Draw what lies in the visible stretch.
  update() {
    const { model } = this, { start, end } = this.range;
    this.shown = model.shownNodes.length;
    this.pixel = (end - start) / this.width();
    this.fig.height = this.heightFor(this.shown);
    this.rows.setv({ start: -.38, end: this.shown - .28 });
    this.from = tutti.lowerBound(model.reach, start);
    this.to = tutti.lowerBound(model.sxOrdered, end);
    this.noteFrom = tutti.lowerBound(model.nxOrdered, start);
    this.noteTo = tutti.lowerBound(model.nxOrdered, end);
    let edges = 0, notes = 0;
    for (let k = this.from; k < this.to && edges <= tutti.MOST_EDGES; k++) {
      const i = model.bySend[k];
      if (model.sendOn[i]) edges += model.sends.copies[i + 1] - model.sends.copies[i] + 1;
    }
    for (let k = this.noteFrom; k < this.noteTo && notes <= 2 * tutti.MOST_EDGES; k++) notes += model.noteOn[model.byNote[k]];
    this.detailed = edges <= tutti.MOST_EDGES && notes <= 2 * tutti.MOST_EDGES;
    this.drawn = edges;
    this.marks = [];
    this.drawFrame(start, end);
    if (this.detailed) this.drawDetail(start, end); else this.drawDensity(start, end);
    this.drawFound(start, end);
    this.drawSelected();
    this.onView?.(this);
  }

  drawFrame(start, end) {
    const { model, s } = this, axis = model.axis, ticks = axis.ticks(start, end, this.width());
    this.ticker.ticks = ticks.map(([place]) => place);
    this.fig.xaxis.major_label_overrides = new Map(ticks);
    const labels = new Map();
    model.shownNodes.forEach((node) => {
      const skew = model.skewAt(node, end);
      labels.set(this.y(node), `n${node}` + (Math.abs(skew) < 5e3 ? "" : `\n${skew > 0 ? "+" : "−"}${tutti.showSpan(Math.abs(skew))}`));
    });
    this.laneTicker.ticks = [...labels.keys()];
    this.fig.yaxis.major_label_overrides = this.labels = labels;
    this.put('lanes', { x0: model.shownNodes.map(() => start), x1: model.shownNodes.map(() => end), y: model.shownNodes.map((node) => this.y(node)) });
    const folds = { l: [], r: [] }, words = { x: [], y: [], w: [] };
    for (const [begin, finish] of axis.folds) {
      const left = axis.place(begin), right = axis.place(finish);
      if (right < start || left > end) continue;
      folds.l.push(left); folds.r.push(right);
      if ((right - left) / this.pixel > 34) { words.x.push((left + right) / 2); words.y.push(-.37); words.w.push(`… ${tutti.showSpan(finish - begin)} …`); }
    }
    const parting = model.about.parting, parts = parting !== null && axis.mode !== "causal" ? [axis.place(parting)] : [];
    this.put("cursor", { x0: parts, x1: parts, y0: parts.map(() => -.38), y1: parts.map(() => this.shown - .28) });
    if (parts.length) { words.x.push(parts[0] + 52 * this.pixel); words.y.push(this.shown - .45); words.w.push("the runs part here"); }
    this.put('folds', folds); this.put('foldWords', words);
    this.drawBands(start, end);
  }

  drawBands(start, end) {
    const { model, s } = this, k = tutti.colours(), bands = { l: [], r: [], b: [], t: [], c: [], a: [] }, words = { x: [], y: [], w: [] };
    const taken = new Map(), instants = new Map();  // node -> where the last words end, and how many follow one another
    for (const band of model.about.bands) {
      if (model.axis.mode === "causal") break;
      const left = model.axis.place(band.begin), instant = band.end === band.begin;
      const right = instant ? left : band.end === null ? Math.max(end, this.whole[1]) : model.axis.place(band.end);
      if (right < start - this.pixel || left > end) continue;
      const nodes = band.nodes.filter((node) => model.row[node] >= 0), at = Math.max(left, start);
      for (const node of nodes) {
        const y = this.y(node), low = instant && !this.detailed ? y + .5 : y - .3;
        bands.l.push(instant ? left - 1.2 * this.pixel : left); bands.r.push(instant ? left + 1.2 * this.pixel : right);
        bands.b.push(low); bands.t.push(y + .58); bands.c.push(k.fault); bands.a.push(instant ? .75 : .2);
        this.marks.push({ what: "band", band, x: at, x1: right, y: y + .14 });
      }
      if (!nodes.length) continue;
      const node = nodes.reduce((top, one) => this.y(one) > this.y(top) ? one : top);
      const text = "⚡ " + (band.text.length > 44 ? band.text.slice(0, 43) + "…" : band.text), row = taken.get(node) ?? [], last = instants.get(node);
      if (instant && last && at - last.x < 190 * this.pixel) { last.count++; words.w[last.word] = `${last.text} … ${last.count}×`; continue; }
      let level = 0;
      while (level < 3 && (row[level] ?? -Infinity) > at) level++;
      if (level === 3) continue;
      row[level] = at + (text.length * 6 + 40) * this.pixel;
      taken.set(node, row);
      if (instant) instants.set(node, { x: at, word: words.w.length, text, count: 1 });
      words.x.push(at); words.y.push(this.y(node) + .57 - .1 * level); words.w.push(text);
    }
    this.put('bands', bands); this.put('bandWords', words);
  }

  drawDetail(start, end) {
    const { model, s } = this, k = tutti.colours(), { sends, copies, notes } = model;
    const edges = { x0: [], y0: [], x1: [], y1: [], c: [], w: [] }, faint = { x0: [], y0: [], x1: [], y1: [], c: [] }, cut = { x0: [], y0: [], x1: [], y1: [], c: [] };
    const arrivals = { x: [], y: [], c: [] }, marks = { x: [], y: [], m: [], c: [], f: [], s: [] }, lost = { x: [], y: [], s: [] };
    const words = { x: [], y: [], w: [], c: [] }, ties = { x0: [], y0: [], x1: [], y1: [], cx: [], cy: [] };
    const labelled = new Map(), dense = this.drawn > 700;
    for (let q = this.from; q < this.to; q++) {
      const i = model.bySend[q];
      if (!model.sendOn[i]) continue;
      const x0 = model.sx[i], y0 = this.y(sends.node[i]), type = sends.type[i], colour = tutti.typeColour(model, type);
      const bare = model.types[type].bare !== undefined, again = sends.original[i] >= 0;
      for (let j = sends.copies[i]; j < sends.copies[i + 1]; j++) {
        if (!model.copyOn[j]) continue;
        const x1 = model.cx[j], y1 = this.y(copies.to[j]), fate = copies.fate[j];
        if (x1 < start && x0 < start) continue;
        if (fate === tutti.LOST_ON_THE_WAY || fate === tutti.LOST_AT_ONCE) {
          // Where it was lost: short of its receiver, or next to its sender when nobody ever saw it.
          const away = fate === tutti.LOST_ON_THE_WAY ? Math.max(.5, 1 - .2 / Math.max(.2, Math.abs(y1 - y0))) : .16;
          const xc = y0 === y1 ? x1 : x0 + (x1 - x0) * away, yc = y0 === y1 ? y0 + .02 : y0 + (y1 - y0) * away;
          cut.x0.push(x0); cut.y0.push(y0); cut.x1.push(xc); cut.y1.push(yc); cut.c.push(colour);
          lost.x.push(xc); lost.y.push(yc); lost.s.push(dense ? 8 : 11);
          this.marks.push({ what: "copy", index: j, x: xc, y: yc });
        } else if (fate !== tutti.UNDER_WAY) {
          const line = bare ? faint : edges;
          line.x0.push(x0); line.y0.push(y0); line.x1.push(x1); line.y1.push(y1); line.c.push(colour);
          if (!bare) line.w.push(dense ? .9 : again ? 1.9 : 1.4);
          arrivals.x.push(x1); arrivals.y.push(y1); arrivals.c.push(colour);
          this.marks.push({ what: "copy", index: j, x: x1, y: y1 });
        }
      }
      if (x0 < start || x0 > end) continue;
      marks.x.push(x0); marks.y.push(y0); marks.m.push(tutti.typeShape(model, type)); marks.c.push(again ? k.again : colour);
      marks.f.push(bare ? k.paper : colour); marks.s.push(bare ? 6 : again ? 11 : 9);
      this.marks.push({ what: "send", index: i, x: x0, y: y0 });
      if (again) {
        const o = sends.original[i], xo = model.sx[o], yo = this.y(sends.node[o]);
        if (model.sendOn[o] && this.drawn < 1500) {
          ties.x0.push(xo); ties.y0.push(yo); ties.x1.push(x0); ties.y1.push(y0);
          ties.cx.push((xo + x0) / 2); ties.cy.push((yo + y0) / 2 - .5);
        }
      }
      const key = sends.node[i], last = labelled.get(key) ?? -Infinity;
      if (!bare && x0 - last > 52 * this.pixel) {
        const name = model.types[type].title + (sends.about[i] ? " " + model.message(sends.about[i], sends.seq[i]) : "") + (again ? " again" : "");
        if (x0 - last > (name.length * 6 + 10) * this.pixel) {
          words.x.push(x0); words.y.push(y0 - .11); words.w.push(name); words.c.push(again ? k.again : colour);
          labelled.set(key, x0);
        }
      }
    }
    this.put('edges', edges); this.put('faint', faint); this.put('lostEdges', cut); this.put('arrivals', arrivals); this.put('sends', marks); this.put('lost', lost);
    this.put('ties', ties); this.put('bars', { l: [], r: [], b: [], t: [], c: [] });
    this.drawNotes(words);
    this.put('words', words);
    this.bins = null;
  }

  drawNotes(words) {
    const { model, s } = this, k = tutti.colours(), { notes } = model, drawn = { x: [], y: [], m: [], c: [], f: [], s: [] }, labelled = new Map(), delivered = new Map();
    for (let q = this.noteFrom; q < this.noteTo; q++) {
      const i = model.byNote[q];
      if (!model.noteOn[i]) continue;
      const kind = notes.kind[i], [up, shape, size, filled, name] = tutti.noteLook(kind), node = notes.node[i];
      const said = model.words[notes.words[i]], failed = kind === 16 && /fail/i.test(said);
      const colour = failed || model.failing[i] ? k.lost : k[name], x = model.nx[i], y = this.y(node) + up;
      drawn.x.push(x); drawn.y.push(y); drawn.m.push(shape); drawn.c.push(colour); drawn.f.push(filled ? colour : k.paper); drawn.s.push(size);
      this.marks.push({ what: "note", index: i, x, y });
      if (kind === 7) { this.name(delivered, node, x, y, model.message(notes.about[i], notes.seq[i]), colour, words); continue; }
      const label = kind === 9 ? "ALARM " + said.replace(/^peers /, "") : kind === 8 ? `view of ${(said.match(/^peers ([^;]*)/)?.[1] ?? "").split(" ").filter(Boolean).length}`
        : kind === 16 || kind === 17 ? said.split("; ").at(-1) : "";
      if (!label) continue;
      const shown = label.length > 46 ? label.slice(0, 45) + "…" : label;
      if (x - (labelled.get(node) ?? -Infinity) > 40 * this.pixel) {
        words.x.push(x); words.y.push(y); words.w.push(shown); words.c.push(colour);
        labelled.set(node, x + shown.length * 6 * this.pixel);
      }
    }
    for (const group of delivered.values()) this.nameGroup(group, words);
    model.about.damaged.forEach(([time, at, capture, frame], index) => {
      const x = model.axis.mode === "causal" ? NaN : model.axis.place(time), node = +at.slice(1);
      if (!(x >= this.range.start && x <= this.range.end) || at[0] !== "n" || !(model.row[node] >= 0)) return;
      drawn.x.push(x); drawn.y.push(this.y(node)); drawn.m.push("square_x"); drawn.c.push(k.lost); drawn.f.push(k.paper); drawn.s.push(9);
      this.marks.push({ what: "damaged", index, x, y: this.y(node), text: `a damaged frame: ${capture} #${frame}` });
    });
    this.put('notes', drawn);
  }

  // Messages delivered at one place are named together, in their order.
  name(groups, node, x, y, message, colour, words) {
    const group = groups.get(node);
    if (group && x - group.last < 9 * this.pixel) { group.names.push(message); group.last = x; if (colour === tutti.colours().lost) group.colour = colour; return; }
    if (group) this.nameGroup(group, words);
    groups.set(node, { x, y, last: x, names: [message], colour, until: group?.until ?? -Infinity });
  }
  nameGroup(group, words) {
    if (group.x < group.until) return;
    const names = group.names.length > 6 ? [...group.names.slice(0, 5), `+${group.names.length - 5}`] : group.names, text = names.join(" ");
    words.x.push(group.last); words.y.push(group.y); words.w.push(text); words.c.push(group.colour);
    group.until = group.last + (text.length * 5.6 + 12) * this.pixel;
  }

  // Too much to tell apart: how many events of which type fall into each few pixels of each node's line.
  drawDensity(start, end) {
    const { model, s } = this, k = tutti.colours(), { sends, copies, notes } = model, types = model.types.length;
    const pixels = this.width(), used = Math.max(1, [...model.filter.types].length);
    const columns = Math.max(40, Math.min(Math.floor(pixels / 4), Math.floor(9000 / (this.shown * Math.min(used, 3) + this.shown)))), size = (end - start) / columns;
    const counts = new Uint32Array(columns * this.shown * types), lost = new Uint32Array(columns * this.shown), said = new Uint32Array(columns * this.shown);
    const urgent = [];
    const column = (x) => Math.floor((x - start) / size);
    for (let q = this.from; q < this.to; q++) {
      const i = model.bySend[q];
      if (!model.sendOn[i]) continue;
      const at = column(model.sx[i]);
      if (at >= 0 && at < columns) counts[(at * this.shown + model.row[sends.node[i]]) * types + sends.type[i]]++;
      for (let j = sends.copies[i]; j < sends.copies[i + 1]; j++) {
        if (!model.copyOn[j]) continue;
        const there = column(model.cx[j]);
        if (there < 0 || there >= columns) continue;
        const fate = copies.fate[j], cell = there * this.shown + model.row[copies.to[j]];
        if (fate === tutti.LOST_ON_THE_WAY || fate === tutti.LOST_AT_ONCE) lost[cell]++;
        else counts[cell * types + sends.type[i]]++;
      }
    }
    for (let q = this.noteFrom; q < this.noteTo; q++) {
      const i = model.byNote[q];
      if (!model.noteOn[i]) continue;
      const there = column(model.nx[i]);
      if (there < 0 || there >= columns) continue;
      said[there * this.shown + model.row[notes.node[i]]]++;
      const kind = notes.kind[i];
      if (kind === 9 || kind === 8 || kind === 17 || model.failing[i]) urgent.push([there, i]);
    }
    let most = 1, mostSaid = 1;
    for (let cell = 0; cell < columns * this.shown; cell++) {
      let sum = 0;
      for (let t = 0; t < types; t++) sum += counts[cell * types + t];
      most = Math.max(most, sum); mostSaid = Math.max(mostSaid, said[cell]);
    }
    const bars = { l: [], r: [], b: [], t: [], c: [] }, crosses = { x: [], y: [], s: [] };
    const scale = .52 / Math.sqrt(most);
    for (let at = 0; at < columns; at++) for (let row = 0; row < this.shown; row++) {
      const cell = at * this.shown + row, y = this.shown - 1 - row, left = start + at * size, right = left + size;
      let sum = 0, below = 0;
      for (let t = 0; t < types; t++) sum += counts[cell * types + t];
      for (let t = 0; sum && t < types; t++) {
        const count = counts[cell * types + t];
        if (!count) continue;
        const height = scale * Math.sqrt(sum) * count / sum;
        bars.l.push(left); bars.r.push(right); bars.b.push(y + below); bars.t.push(y + below + height);
        bars.c.push(model.types[t].bare === undefined ? tutti.typeColour(model, t) : tutti.typeColour(model, t) + "66");
        below += height;
      }
      if (said[cell]) { bars.l.push(left); bars.r.push(right); bars.b.push(y - .2 * Math.sqrt(said[cell] / mostSaid)); bars.t.push(y); bars.c.push(k.dim); }
      if (lost[cell]) { crosses.x.push((left + right) / 2); crosses.y.push(y + .56); crosses.s.push(Math.min(12, 6 + lost[cell])); }
    }
    this.put('bars', bars); this.put('lost', crosses);
    const none = { x0: [], y0: [], x1: [], y1: [], c: [] };
    this.put('edges', { ...none, w: [] }); this.put('faint', none); this.put('lostEdges', none); this.put('arrivals', { x: [], y: [], c: [] });
    this.put('sends', { x: [], y: [], m: [], c: [], f: [], s: [] }); this.put('ties', { x0: [], y0: [], x1: [], y1: [], cx: [], cy: [] });
    const drawn = { x: [], y: [], m: [], c: [], f: [], s: [] }, taken = new Set();
    for (const [there, i] of urgent) {
      const cell = `${there} ${notes.node[i]} ${notes.kind[i]}`;
      if (taken.has(cell)) continue;
      taken.add(cell);
      const [up, shape, large, filled, name] = tutti.noteLook(notes.kind[i]), colour = model.failing[i] ? k.lost : k[name], y = this.y(notes.node[i]) + up;
      drawn.x.push(model.nx[i]); drawn.y.push(y); drawn.m.push(shape); drawn.c.push(colour); drawn.f.push(filled ? colour : k.paper); drawn.s.push(large);
      this.marks.push({ what: "note", index: i, x: model.nx[i], y });
    }
    this.put('notes', drawn); this.put('words', { x: [], y: [], w: [], c: [] });
    this.bins = { start, size, columns, types, counts, lost, said };
  }

  drawFound(start, end) {
    const { model, s } = this, rings = { x: [], y: [], s: [] };
    if (this.detailed) for (const one of this.found) {
      const x = model.placeOf(one);
      if (x < start || x > end) continue;
      const node = one.what === "note" ? model.notes.node[one.index] : model.sends.node[one.index];
      if (!(model.row[node] >= 0)) continue;
      rings.x.push(x); rings.s.push(17);
      rings.y.push(this.y(node) + (one.what === "note" ? tutti.noteLook(model.notes.kind[one.index])[0] : 0));
    } else {
      const taken = new Set();
      for (const one of this.found) {
        const x = model.placeOf(one), cell = Math.round((x - start) / this.pixel / 5);
        if (x < start || x > end) continue;
        const node = one.what === "note" ? model.notes.node[one.index] : model.sends.node[one.index];
        if (!(model.row[node] >= 0) || taken.has(cell * 1000 + node)) continue;
        taken.add(cell * 1000 + node);
        rings.x.push(x); rings.y.push(this.y(node)); rings.s.push(9);
      }
    }
    this.put('rings', rings);
  }

  drawSelected() {
    const { model, s } = this, bold = { x0: [], y0: [], x1: [], y1: [], c: [] }, chosen = { x: [], y: [] };
    if (this.selected) {
      const { what, index } = this.selected, send = what === "copy" ? model.copies.of[index] : what === "send" ? index : -1;
      const node = what === "note" ? model.notes.node[index] : what === "copy" ? model.copies.to[index] : model.sends.node[index];
      if (model.row[node] >= 0) {
        const mark = this.marks.find((one) => one.what === what && one.index === index);
        chosen.x.push(mark?.x ?? model.placeOf(this.selected));
        chosen.y.push(mark?.y ?? this.y(node) + (what === "note" ? tutti.noteLook(model.notes.kind[index])[0] : 0));
      }
      if (send >= 0 && model.row[model.sends.node[send]] >= 0)
        for (let j = model.sends.copies[send]; j < model.sends.copies[send + 1]; j++) {
          if (model.copies.fate[j] || !(model.row[model.copies.to[j]] >= 0)) continue;
          bold.x0.push(model.sx[send]); bold.y0.push(this.y(model.sends.node[send]));
          bold.x1.push(model.cx[j]); bold.y1.push(this.y(model.copies.to[j])); bold.c.push(tutti.typeColour(model, model.sends.type[send]));
        }
    }
    this.put('bold', bold); this.put('chosen', chosen);
  }

  select(one, { reveal = false } = {}) {
    this.selected = one;
    if (one && reveal) this.reveal(one);
    this.update();
    this.onSelect?.(one);
  }
  // Make a thing visible, near enough to be told apart.
  reveal(one) {
    const { model } = this, x = model.placeOf(one), { start, end } = this.range;
    const send = one.what === "send" ? one.index : one.what === "copy" ? model.copies.of[one.index] : -1;
    let reach = 0;
    if (send >= 0) for (let j = model.sends.copies[send]; j < model.sends.copies[send + 1]; j++) reach = Math.max(reach, model.cx[j] - model.sx[send]);
    let span = Math.min(end - start, Math.max(reach * 6, this.nearby(x)));
    if (x < start || x > end || span < end - start) this.setRange(x - span * .42, x + span * .58);
  }
  // A stretch around a place that holds so few copies that they are drawn one by one.
  nearby(x) {
    const { model } = this, at = tutti.lowerBound(model.sxOrdered, x), few = Math.max(4, Math.floor(70 / Math.max(1, this.shown)));
    const low = Math.max(0, at - few), high = Math.min(model.sxOrdered.length - 1, at + few);
    return high > low ? model.sxOrdered[high] - model.sxOrdered[low] : this.range.end - this.range.start;
  }

  zoom(factor, at = (this.range.start + this.range.end) / 2) {
    const { start, end } = this.range;
    this.setRange(at - (at - start) * factor, at + (end - at) * factor);
  }
  pan(share) { const span = this.range.end - this.range.start; this.setRange(this.range.start + share * span, this.range.end + share * span); }

  // The pointer: what is nearest, in pixels.
  place(event) {
    const box = this.view.el.getBoundingClientRect(), frame = this.view.frame.bbox;
    const sx = event.clientX - box.left, sy = event.clientY - box.top;
    if (sx < frame.left || sx > frame.right || sy < frame.top || sy > frame.bottom) return null;
    return { sx, sy, x: this.view.frame.x_scale.invert(sx), y: this.view.frame.y_scale.invert(sy) };
  }
  nearest(at, reach = 13) {
    const lane = (this.rows.end - this.rows.start) / this.view.frame.bbox.height, found = [];
    for (const mark of this.marks) {
      if (mark.what === "band") continue;
      const distance = Math.hypot((mark.x - at.x) / this.pixel, (mark.y - at.y) / lane);
      if (distance < reach) found.push([distance, mark]);
    }
    return found.sort(([a], [b]) => a - b).map(([, mark]) => mark);
  }
  bandAt(at) { return this.marks.find((mark) => mark.what === "band" && at.x >= mark.x - 4 * this.pixel && at.x <= mark.x1 + 4 * this.pixel && Math.abs(at.y - mark.y) < .46)?.band; }

  listen() {
    const target = this.target;
    let down = null;
    target.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; });
    target.addEventListener("pointermove", (event) => this.onPoint?.(this.place(event), event));
    target.addEventListener("pointerleave", (event) => this.onPoint?.(null, event));
    target.addEventListener("click", (event) => {
      if (down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;
      const at = this.place(event);
      if (!at) return;
      const mark = this.nearest(at).find(({ what }) => what !== "damaged");
      if (mark) this.select({ what: mark.what, index: mark.index });
      else if (this.bins) this.zoom(.25, at.x);
      else this.select(null);
    });
    target.addEventListener("dblclick", (event) => { const at = this.place(event); if (at) this.zoom(.25, at.x); });
  }
};
