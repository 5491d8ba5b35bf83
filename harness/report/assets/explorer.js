// One scene on a page: diagram, legend that filters, search, what is under the pointer, what is selected, keyboard.
"use strict";
tutti.Explorer = class {
  constructor(model, root, options = {}) {
    this.model = model;
    this.root = root;
    const part = (name) => root.querySelector(`[data-part="${name}"]`);
    this.parts = { diagram: part("diagram"), legend: part("legend"), details: part("details"), search: part("search"), count: part("count"), mode: part("mode"), view: part("view"), states: part("states"), tip: part("tip"), hair: part("hair") };
    this.diagram = new tutti.Diagram(model, this.parts.diagram, { ...options, onSelect: (one) => this.describe(one), onView: () => this.viewed() });
    this.diagram.onPoint = (at, event) => this.point(at, event);
    this.hit = -1;
    this.listen();
    this.drawLegend();
    tutti.look.listen(() => this.drawLegend());
  }
  async show() { await this.diagram.show(); }
  async showStates() {
    if (!this.parts.states) return;
    this.states = new tutti.States(this.diagram, this.parts.states);
    await this.states.build();
  }

  listen() {
    const { diagram, parts } = this;
    for (const button of this.root.querySelectorAll("[data-do]"))
      button.addEventListener("click", () => this.act(button.dataset.do));
    parts.mode?.addEventListener("change", () => this.setMode(parts.mode.value));
    parts.search?.addEventListener("input", () => this.search(parts.search.value));
    parts.search?.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); this.jump(event.shiftKey ? -1 : 1); }
      if (event.key === "Escape") { parts.search.value = ""; this.search(""); parts.search.blur(); }
    });
    for (const link of document.querySelectorAll("[data-failure]"))
      link.addEventListener("click", () => this.showFailure(+link.dataset.failure));
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      const focused = tutti.explorers?.find((one) => one.root.contains(document.activeElement)) ?? tutti.explorers?.[0];
      if (focused && focused !== this) return;
      if (event.target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " ")) return;
      const act = { "+": "in", "=": "in", "-": "out", "0": "all", Home: "begin", End: "end", ArrowLeft: "previous", ArrowRight: "next", "[": "left", "]": "right", n: "hit", N: "hitBack", f: "failure", c: "causal", "/": "find", Escape: "nothing", ArrowUp: "up", ArrowDown: "down" }[event.key];
      if (!act || (event.key.startsWith("Arrow") && !this.root.contains(document.activeElement) && document.activeElement !== document.body)) return;
      if ((act === "begin" || act === "end") && !this.root.contains(document.activeElement)) return;
      if ((act === "up" || act === "down") && !this.diagram.selected) return;
      event.preventDefault();
      this.act(act);
    });
  }
  act(what) {
    const { diagram, model } = this;
    switch (what) {
      case "in": diagram.zoom(.5); break;
      case "out": diagram.zoom(2); break;
      case "all": diagram.setRange(...diagram.whole); break;
      case "begin": diagram.pan(-1e9); break;
      case "end": diagram.pan(1e9); break;
      case "left": diagram.pan(-.4); break;
      case "right": diagram.pan(.4); break;
      case "next": case "previous": this.step(what === "next" ? 1 : -1); break;
      case "up": case "down": this.turn(what === "up" ? -1 : 1); break;
      case "hit": this.jump(1); break;
      case "hitBack": this.jump(-1); break;
      case "failure": if (model.about.failures.length) this.showFailure(this.failure = ((this.failure ?? -1) + 1) % model.about.failures.length); break;
      case "causal": this.setMode(model.axis.mode === "causal" ? "folded" : "causal"); break;
      case "find": this.parts.search?.focus(); break;
      case "nothing": diagram.select(null); break;
    }
  }
  setMode(mode) {
    const { model, diagram, parts } = this;
    if (parts.mode) parts.mode.value = mode;
    const middle = model.axis.mode === "causal" || mode === "causal" ? null : [diagram.range.start, diagram.range.end].map((place) => model.axis.time(place));
    model.layOut(mode);
    diagram.resetRange();
    if (middle) diagram.setRange(...middle.map((time) => model.axis.place(time)));
    diagram.update();
    this.states?.update();
    this.root.classList.toggle("causal", mode === "causal");
  }
  // The event before or after the selected one: on the same node, as the diagram shows it.
  step(direction) {
    const { diagram, model } = this, here = diagram.selected;
    const marks = diagram.marks.filter(({ what }) => what !== "band" && what !== "damaged").sort((a, b) => a.x - b.x || b.y - a.y);
    if (!marks.length) { diagram.pan(direction * .4); return; }
    let at = here ? marks.findIndex((mark) => mark.what === here.what && mark.index === here.index) : -1;
    at = at < 0 ? (direction > 0 ? 0 : marks.length - 1) : at + direction;
    if (at < 0 || at >= marks.length) { diagram.pan(direction * .4); return; }
    diagram.select({ what: marks[at].what, index: marks[at].index });
    const { start, end } = diagram.range, x = marks[at].x, edge = .05 * (end - start);
    if (x > end - edge || x < start + edge) diagram.pan(x < start + edge ? -.3 : .3);  // it stays in sight
  }
  turn(direction) {
    const { diagram } = this, here = diagram.selected && diagram.marks.find((mark) => mark.what === diagram.selected.what && mark.index === diagram.selected.index);
    if (!here) return;
    const others = diagram.marks.filter((mark) => mark.what !== "band" && mark.what !== "damaged" && (here.y - mark.y) * direction > .5).sort((a, b) => Math.abs(a.x - here.x) + 40 * diagram.pixel * Math.abs(a.y - here.y) - Math.abs(b.x - here.x) - 40 * diagram.pixel * Math.abs(b.y - here.y));
    if (others.length) diagram.select({ what: others[0].what, index: others[0].index });
  }

  search(query) {
    this.diagram.found = this.model.search(query);
    this.hit = -1;
    this.counted();
    this.diagram.update();
  }
  counted() {
    const total = this.diagram.found.length;
    this.parts.count.textContent = !this.parts.search.value.trim() ? "" : !total ? "nothing found" : this.hit < 0 ? `${total} found` : `${this.hit + 1} of ${total}`;
  }
  jump(direction) {
    const { found } = this.diagram;
    if (!found.length) return;
    this.hit = this.hit < 0 && direction < 0 ? found.length - 1 : (this.hit + direction + found.length) % found.length;
    this.counted();
    this.diagram.select(found[this.hit], { reveal: true });
  }
  // All that a failure is about, in one view.
  showFailure(number) {
    const { model, diagram } = this, failure = model.about.failures[number];
    const messages = new Set(failure.messages.map(([, , name]) => name));
    const found = [...failure.notes].map((index) => ({ what: "note", index }));
    for (let i = 0; i < model.sends.count; i++)
      if (model.sends.about[i] && messages.has(model.message(model.sends.about[i], model.sends.seq[i]))) found.push({ what: "send", index: i });
    found.sort((a, b) => model.timeOf(a) - model.timeOf(b));
    if (this.parts.search) { this.parts.search.value = failure.messages.length === 1 ? failure.messages[0][2] : "failing"; }
    diagram.found = found;
    this.hit = -1;
    this.counted();
    const places = failure.notes.length ? failure.notes.map((index) => model.nx[index]) : found.map((one) => model.placeOf(one));
    if (places.length) {
      const low = Math.min(...places), high = Math.max(...places), room = Math.max((high - low) * .22, diagram.nearby(low) * (high > low ? .12 : .5));
      diagram.setRange(low - room, high + room);
    }
    diagram.select(failure.notes.length ? { what: "note", index: failure.notes[0] } : found[0] ?? null);
    this.root.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  drawLegend() {
    const { model, parts } = this, k = tutti.colours(), filter = model.filter;
    if (!parts.legend) return;
    const chip = (set, key, icon, text, title) => {
      const made = tutti.make("button", { class: "chip", type: "button", "aria-pressed": String(set.has(key)), title, "data-key": String(text),
        onclick: (event) => {
          if (event.shiftKey) { const only = set.size === 1 && set.has(key); const all = [...made.parentElement.querySelectorAll(".chip")].map((one) => one.tutti); set.clear(); for (const one of only ? all : [key]) set.add(one); }
          else if (set.has(key)) set.delete(key); else set.add(key);
          this.filtered();
        } }, icon, text);
      made.tutti = key;
      return made;
    };
    const group = (label, chips) => tutti.make("div", { class: "chips", role: "group", "aria-label": label }, tutti.make("span", { class: "soft" }, label), ...chips);
    const message = filter.message ? [tutti.make("button", { class: "chip only", type: "button", onclick: () => { filter.message = null; this.filtered(); } }, `only message ${tutti.messageName(...filter.message)} ✕`)] : [];
    parts.legend.replaceChildren(
      group(model.about.called, model.types.map((type, index) => chip(filter.types, index, tutti.icon(tutti.typeShape(model, index), tutti.typeColour(model, index), type.bare === undefined), `${type.title} ${type.count}`, `${type.name}: ${type.says} (shift: only this)`))),
      group("NOTEs", [...model.kinds].sort(([a], [b]) => a - b).map(([kind, count]) => {
        const [, shape, , filled, colour, meaning] = tutti.noteLook(kind);
        return chip(filter.kinds, kind, tutti.icon(shape, k[colour], filled), `${(model.about.kinds[kind] ?? "?").toLowerCase()} ${count}`, `${meaning} (shift: only this)`);
      })),
      group("nodes", model.nodes.map((node) => chip(filter.nodes, node, tutti.icon("dash", k.types[model.lane[node] % k.types.length], false), `n${node}`, "its colour below the diagram (shift: only this node)"))),
      tutti.make("div", { class: "chips" }, ...message,
        tutti.make("span", { class: "key" }, tutti.icon("x", k.lost, false), ` lost copy ${model.lostCopies}`),
        tutti.make("span", { class: "key" }, tutti.make("i", { class: "tie" }), ` sent again ${[...model.again.values()].reduce((sum, list) => sum + list.length, 0)}`),
        tutti.make("span", { class: "key" }, tutti.make("i", { class: "folded" }), " idle time, folded"),
        model.about.bands.length ? tutti.make("span", { class: "key" }, tutti.make("i", { class: "fault" }), ` fault ${model.about.bands.length}`) : null));
  }
  filtered() {
    this.model.applyFilter();
    this.drawLegend();
    this.diagram.update();
    this.states?.update();
  }
  only(about, seq) { this.model.filter.message = [about, seq]; this.filtered(); }

  viewed() {
    const { diagram, model } = this, axis = model.axis;
    if (!this.parts.view) return;
    const span = axis.mode === "causal" ? "" : `${tutti.showTime(axis.time(diagram.range.start), 1e4)} to ${tutti.showTime(axis.time(diagram.range.end), 1e4)}`;
    this.parts.view.textContent = [span, diagram.detailed ? "everything drawn" : "bars: events per node and type; zoom in, or click, for single ones"].filter(Boolean).join("   ·   ");
  }

  // What is under the pointer.
  point(at, event) {
    const { tip } = this.parts, { diagram, model } = this;
    this.states?.point(at ? at.x : null);
    this.parts.hair.hidden = !at;
    if (!at) { tip.hidden = true; return; }
    this.parts.hair.style.left = `${at.sx}px`;
    const marks = diagram.nearest(at), lines = [];
    if (marks.length) {
      for (const mark of marks.slice(0, 7)) lines.push(this.line(mark));
      if (marks.length > 7) lines.push([tutti.make("span", { class: "soft" }, `and ${marks.length - 7} more: zoom in`)]);
      const [first] = marks, send = first.what === "send" ? first.index : first.what === "copy" ? model.copies.of[first.index] : -1;
      if (send >= 0) lines.push([this.table(model.dissected(send).slice(0, 14))]);
    } else if (diagram.bins) {
      const { start, size, columns, types, counts, lost, said } = diagram.bins, column = Math.floor((at.x - start) / size), row = diagram.shown - 1 - Math.round(at.y - .15);
      if (column >= 0 && column < columns && row >= 0 && row < diagram.shown) {
        const cell = column * diagram.shown + row, parts = model.types.flatMap((type, t) => counts[cell * types + t] ? [`${counts[cell * types + t]} ${type.title}`] : []);
        if (lost[cell]) parts.push(`${lost[cell]} lost`);
        if (said[cell]) parts.push(`${said[cell]} NOTEs`);
        if (parts.length) lines.push([`n${model.shownNodes[row]}: ${parts.join(", ")}`]);
      }
    }
    const band = diagram.bandAt(at);
    if (band) lines.push([`⚡ ${band.text || band.kind} (${band.capture} frame ${band.frame})`]);
    if (!lines.length) { tip.hidden = true; return; }
    tip.replaceChildren(...lines.map((parts) => tutti.make("div", {}, ...parts)));
    tip.hidden = false;
    const box = this.parts.diagram.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    tip.style.left = `${Math.max(0, Math.min(x + 16, box.width - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight > box.height + 120 ? Math.max(0, y - tip.offsetHeight - 12) : y + 18}px`;
  }
  line({ what, index, text }) {
    if (what === "damaged") return [tutti.make("b", { class: "lost" }, text)];
    const { model } = this, { sends, copies, notes, about } = model, bold = (text) => tutti.make("b", {}, text);
    if (what === "note") {
      const said = model.words[notes.words[index]], message = model.message(notes.about[index], notes.seq[index]);
      return [bold(about.kinds[notes.kind[index]] ?? "NOTE"), ` n${notes.node[index]} ${message}`, said ? ` · ${said}` : "", tutti.make("span", { class: "soft" }, ` · ${tutti.showTime(notes.time[index])}`)];
    }
    const send = what === "copy" ? copies.of[index] : index, message = model.message(sends.about[send], sends.seq[send]);
    const name = [bold(model.types[sends.type[send]].name), ` ${message}${sends.original[send] >= 0 ? " again" : ""} `];
    if (what === "send") return [...name, `from n${sends.node[send]}`, tutti.make("span", { class: "soft" }, ` · ${tutti.showTime(sends.time[send])} · ${about.captures[sends.capture[send]]} frame ${sends.frame[send]}`)];
    if (model.lost(index)) return [...name, tutti.make("b", { class: "lost" }, "lost"), ` on its way to n${copies.to[index]}`, tutti.make("span", { class: "soft" }, copies.leg[index] ? `, on ${about.legs[copies.leg[index]]}` : "")];
    return [...name, `n${sends.node[send]} → n${copies.to[index]}`, tutti.make("span", { class: "soft" }, ` · ${tutti.showTime(copies.time[index])} (+${tutti.showSpan(copies.time[index] - sends.time[send])}) · n${copies.to[index]}.pcap frame ${copies.frame[index]}`)];
  }
  table(lines) {
    return tutti.make("table", { class: "fields" }, ...lines.map(([name, value, meaning]) => tutti.make("tr", { title: meaning }, tutti.make("th", {}, name), tutti.make("td", {}, value.length > 300 ? value.slice(0, 299) + "…" : value))));
  }

  // What is selected, in full.
  describe(one) {
    const { details } = this.parts, { model } = this, { sends, copies, notes, passed, about } = model;
    if (!details) return;
    if (!one) { details.replaceChildren(tutti.make("p", { class: "soft" }, "Click a PDU or a NOTE: what it says, where it was captured, and what became of each copy.")); return; }
    const jump = (target, text) => tutti.make("button", { class: "link", type: "button", onclick: () => this.diagram.select(target, { reveal: true }) }, text);
    const place = (capture, frame) => tutti.make("code", {}, `${capture} #${frame}`);
    const parts = [];
    if (one.what === "note") {
      const i = one.index, kind = notes.kind[i], message = model.message(notes.about[i], notes.seq[i]);
      parts.push(tutti.make("h3", {}, `${about.kinds[kind]} ${message}`), tutti.make("p", { class: "soft" }, tutti.noteLook(kind)[5]),
        this.table([["node", `n${notes.node[i]}`, ""], ["time", tutti.showTime(notes.time[i]), "true time since the beginning"], ["own clock", `${notes.skew[i] >= 0 ? "+" : "−"}${tutti.showSpan(Math.abs(notes.skew[i]))}`, "local clock minus true time"],
          ...(model.words[notes.words[i]] ? [["says", model.words[notes.words[i]], ""]] : []), ["frame", `${about.captures[notes.capture[i]]} #${notes.frame[i]}`, "in Wireshark"]]));
      if (notes.about[i]) {
        const related = [];
        for (let j = 0; j < sends.count && related.length < 6; j++) if (sends.about[j] === notes.about[i] && sends.seq[j] === notes.seq[i]) related.push(j);
        for (const j of related) parts.push(tutti.make("p", {}, jump({ what: "send", index: j }, `${model.types[sends.type[j]].title} from n${sends.node[j]} at ${tutti.showTime(sends.time[j])}`)));
        parts.push(this.onlyButton(notes.about[i], notes.seq[i]));
      }
      parts.push(this.command(about.captures[notes.capture[i]], notes.frame[i]));
    } else {
      const i = one.what === "copy" ? copies.of[one.index] : one.index, type = model.types[sends.type[i]], message = model.message(sends.about[i], sends.seq[i]);
      parts.push(tutti.make("h3", {}, tutti.icon(tutti.typeShape(model, sends.type[i]), tutti.typeColour(model, sends.type[i]), true), ` ${type.name} ${message}`), tutti.make("p", { class: "soft" }, `${type.says} (${type.section})`));
      if (sends.original[i] >= 0) parts.push(tutti.make("p", {}, "sent again; ", jump({ what: "send", index: sends.original[i] }, `first at ${tutti.showTime(sends.time[sends.original[i]])} by n${sends.node[sends.original[i]]}`)));
      for (const later of (model.again.get(i) ?? []).slice(0, 5)) parts.push(tutti.make("p", {}, jump({ what: "send", index: later }, `sent again at ${tutti.showTime(sends.time[later])} by n${sends.node[later]}`)));
      const rows = [tutti.make("tr", {}, tutti.make("td", {}, `n${sends.node[i]} sent`), tutti.make("td", { class: "n" }, tutti.showTime(sends.time[i])), tutti.make("td", {}, place(about.captures[sends.capture[i]], sends.frame[i])))];
      for (let j = sends.passed[i]; j < sends.passed[i + 1]; j++)
        rows.push(tutti.make("tr", {}, tutti.make("td", {}, about.captures[passed.capture[j]].replace(/\.pcap$/, "")), tutti.make("td", { class: "n" }, `+${tutti.showSpan(passed.time[j] - sends.time[i])}`), tutti.make("td", {}, place(about.captures[passed.capture[j]], passed.frame[j]))));
      for (let j = sends.copies[i]; j < sends.copies[i + 1]; j++) {
        const what = ["", "lost on the way", "lost at once", "once more", "under way at the end"][copies.fate[j]], lost = model.lost(j);
        rows.push(tutti.make("tr", { class: one.what === "copy" && one.index === j ? "this" : "" }, tutti.make("td", {}, `→ n${copies.to[j]}`), tutti.make("td", { class: "n" }, lost || copies.fate[j] === tutti.UNDER_WAY ? "" : `+${tutti.showSpan(copies.time[j] - sends.time[i])}`),
          tutti.make("td", {}, what ? tutti.make("b", { class: lost ? "lost" : "" }, lost && copies.leg[j] ? `lost on ${about.legs[copies.leg[j]]}` : what) : "", copies.frame[j] ? place(`n${copies.to[j]}.pcap`, copies.frame[j]) : "")));
      }
      parts.push(tutti.make("table", { class: "places" }, ...rows), this.table(model.dissected(i)));
      if (sends.about[i]) parts.push(this.onlyButton(sends.about[i], sends.seq[i]));
      parts.push(this.command(about.captures[sends.capture[i]], sends.frame[i]));
    }
    details.replaceChildren(...parts);
  }
  onlyButton(about, seq) { return tutti.make("p", {}, tutti.make("button", { type: "button", onclick: () => this.only(about, seq) }, `show only message ${tutti.messageName(about, seq)}`)); }
  command(capture, frame) { return tutti.make("pre", {}, `tshark -r captures/${capture} -V -Y frame.number==${frame}`); }
};
