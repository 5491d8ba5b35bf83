// What happened, ready to be laid out, filtered and searched: typed arrays, one element per sending, copy or NOTE.
"use strict";
tutti.ARRIVED = 0; tutti.LOST_ON_THE_WAY = 1; tutti.LOST_AT_ONCE = 2; tutti.DOUBLE = 3; tutti.UNDER_WAY = 4;
tutti.Model = class {
  constructor({ columns, about }) {
    const take = (prefix) => Object.fromEntries(Object.entries(columns).filter(([name]) => name.startsWith(prefix))
      .map(([name, column]) => [name.slice(prefix.length), column]));
    this.about = about;
    this.sends = take("s."); this.copies = take("c."); this.passed = take("p."); this.notes = take("n.");
    this.pdus = take("d."); this.steps = take("v.");
    this.nodes = about.nodes;
    this.lane = new Int32Array(Math.max(0, ...this.nodes) + 1).fill(-1);
    this.nodes.forEach((node, index) => { this.lane[node] = index; });
    this.words = about.words;
    const s = this.sends, c = this.copies;
    s.count = s.time.length; c.count = c.time.length; this.notes.count = this.notes.time.length;
    // A sending knows its copies; a copy must know its sending. A PDU type that carries messages may also come without.
    c.of = new Uint32Array(c.count);
    for (let i = 0; i < s.count; i++) c.of.fill(i, s.copies[i], s.copies[i + 1]);
    this.types = about.types.map((row) => ({ ...row, row, count: 0 }));
    const named = new Set();
    for (let i = 0; i < s.count; i++) if (s.about[i]) named.add(s.type[i]);
    const bare = new Map();
    for (let i = 0; i < s.count; i++) {
      const type = s.type[i];
      if (!s.about[i] && named.has(type)) {
        if (!bare.has(type)) {
          bare.set(type, this.types.length);
          this.types.push({ ...about.types[type], row: about.types[type], title: "ACK", name: `${about.types[type].name} without a message`, bare: type, count: 0 });
        }
        s.type[i] = bare.get(type);
      }
      this.types[s.type[i]].count++;
    }
    this.kinds = new Map();
    for (const kind of this.notes.kind) this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1);
    this.lostCopies = 0;
    for (const fate of c.fate) if (fate === tutti.LOST_ON_THE_WAY || fate === tutti.LOST_AT_ONCE) this.lostCopies++;
    this.events = s.count + c.count + this.notes.count;
    this.again = new Map();  // sending -> those that repeat it
    for (let i = 0; i < s.count; i++) if (s.original[i] >= 0) {
      const list = this.again.get(s.original[i]);
      if (list) list.push(i); else this.again.set(s.original[i], [i]);
    }
    this.failing = new Uint8Array(this.notes.count);
    for (const failure of about.failures) for (const note of failure.notes) this.failing[note] = 1;
    this.filter = { nodes: new Set(this.nodes), types: new Set(this.types.keys()), kinds: new Set(this.kinds.keys()), message: null };
    this.applyFilter();
    this.layOut("folded");
  }

  lost(copy) { const fate = this.copies.fate[copy]; return fate === tutti.LOST_ON_THE_WAY || fate === tutti.LOST_AT_ONCE; }

  // Places on the axis of everything; orders for searching by place.
  layOut(mode) {
    const { sends: s, copies: c, notes: n } = this;
    this.axis = new tutti.Axis(this.about.folding, mode);
    this.sx = new Float64Array(s.count); this.cx = new Float64Array(c.count); this.nx = new Float64Array(n.count);
    if (mode === "causal") this.layOutCausally();
    else for (const [times, places] of [[s.time, this.sx], [c.time, this.cx], [n.time, this.nx]])
      for (let i = 0; i < times.length; i++) places[i] = this.axis.place(times[i]);
    this.saidBy = null;
    this.bySend = this.ordered(this.sx); this.byNote = this.ordered(this.nx);
    this.sxOrdered = this.bySend.map ? Float64Array.from(this.bySend, (i) => this.sx[i]) : [];
    this.nxOrdered = Float64Array.from(this.byNote, (i) => this.nx[i]);
    // The furthest place that any copy of this or an earlier sending reaches: where a search from the left may begin.
    this.reach = new Float64Array(s.count);
    let far = -Infinity;
    for (let k = 0; k < s.count; k++) {
      const i = this.bySend[k];
      far = Math.max(far, this.sx[i]);
      for (let j = s.copies[i]; j < s.copies[i + 1]; j++) far = Math.max(far, this.cx[j]);
      this.reach[k] = far;
    }
    if (mode === "causal") this.axis.length = Math.max(1, far, ...this.nxOrdered.slice(-1)) * 1e6;
  }

  ordered(places) {
    const order = Uint32Array.from(places.keys());
    for (let i = 1; i < places.length; i++) if (places[i] < places[i - 1]) return order.sort((a, b) => places[a] - places[b]);
    return order;
  }

  // Every event one step after what came before it at its node, and an arrival one step after its sending.
  layOutCausally() {
    const { sends: s, copies: c, notes: n } = this, total = s.count + c.count + n.count;
    const time = (k) => k < s.count ? s.time[k] : k < s.count + c.count ? c.time[k - s.count] : n.time[k - s.count - c.count];
    const frame = (k) => k < s.count ? s.frame[k] : k < s.count + c.count ? c.frame[k - s.count] : n.frame[k - s.count - c.count];
    const keys = Uint32Array.from({ length: total }, (_, k) => k);
    keys.sort((a, b) => time(a) - time(b) || frame(a) - frame(b) || a - b);
    const last = new Float64Array(this.lane.length), sent = new Uint8Array(s.count);
    const node = (k) => k < s.count ? s.node[k] : k < s.count + c.count ? c.to[k - s.count] : n.node[k - s.count - c.count];
    const put = (k) => {
      if (k < s.count) { this.sx[k] = last[s.node[k]] += 1; sent[k] = 1; }
      else if (k < s.count + c.count) {
        const j = k - s.count;
        this.cx[j] = last[c.to[j]] = Math.max(last[c.to[j]] + .5, this.sx[c.of[j]] + 1);
      } else this.nx[k - s.count - c.count] = last[node(k)] += .25;
    };
    const waits = (k) => k >= s.count && k < s.count + c.count && !sent[c.of[k - s.count]];
    // Of what happens at one time, a node's events stay in its order, and an arrival waits for its sending.
    for (let from = 0, to; from < total; from = to) {
      for (to = from + 1; to < total && time(keys[to]) === time(keys[from]);) to++;
      let rest = Array.from(keys.subarray(from, to)).filter((k) => !(k >= s.count && k < s.count + c.count && !c.frame[k - s.count]));
      while (rest.length) {
        const blocked = new Set(), later = [];
        for (const k of rest) if (blocked.has(node(k)) || waits(k)) { blocked.add(node(k)); later.push(k); } else put(k);
        if (later.length === rest.length) { later.forEach(put); break; }
        rest = later;
      }
    }
    for (let j = 0; j < c.count; j++) if (!c.frame[j]) this.cx[j] = this.sx[c.of[j]] + 1;
  }

  applyFilter() {
    const { sends: s, copies: c, notes: n, filter } = this;
    this.shownNodes = this.nodes.filter((node) => filter.nodes.has(node));
    this.row = new Int32Array(this.lane.length).fill(-1);
    this.shownNodes.forEach((node, index) => { this.row[node] = index; });
    const wanted = filter.message;
    this.sendOn = new Uint8Array(s.count); this.copyOn = new Uint8Array(c.count); this.noteOn = new Uint8Array(n.count);
    for (let i = 0; i < s.count; i++) {
      const on = filter.types.has(s.type[i]) && (!wanted || s.about[i] === wanted[0] && s.seq[i] === wanted[1]);
      this.sendOn[i] = on && this.row[s.node[i]] >= 0 ? 1 : 0;
      for (let j = s.copies[i]; on && j < s.copies[i + 1]; j++) this.copyOn[j] = this.row[c.to[j]] >= 0 && this.row[s.node[i]] >= 0 ? 1 : 0;
    }
    for (let i = 0; i < n.count; i++)
      this.noteOn[i] = this.row[n.node[i]] >= 0 && filter.kinds.has(n.kind[i])
        && (!wanted || n.about[i] === wanted[0] && n.seq[i] === wanted[1]) ? 1 : 0;
  }

  // All things that have every word of a query, in the order of true time: [{what: "send" | "note", index}].
  search(query) {
    const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const { sends: s, copies: c, notes: n, about } = this;
    let sends = new Uint8Array(s.count).fill(1), notes = new Uint8Array(n.count).fill(1);
    const hasLost = (i) => { for (let j = s.copies[i]; j < s.copies[i + 1]; j++) if (this.lost(j)) return true; return false; };
    const failing = new Set(about.failures.flatMap((failure) => failure.messages.map(([, , name]) => name)));
    for (const word of words) {
      let ofSend, ofNote;
      const message = word.match(/^(\d+):(?:(\d+)\/)?(\d+)$/), node = word.match(/^n(\d+)$/), frame = word.match(/^(?:([\w.-]+)?#)(\d+)$/);
      if (message) {
        const origin = +message[1], seq = +(message[2] ?? 0) * 2 ** 32 + +message[3];
        ofSend = (i) => s.about[i] === origin && s.seq[i] === seq;
        ofNote = (i) => n.about[i] === origin && n.seq[i] === seq;
      } else if (node) {
        ofSend = (i) => s.node[i] === +node[1]; ofNote = (i) => n.node[i] === +node[1];
      } else if (frame) {
        const file = frame[1], number = +frame[2];
        const same = (capture, its) => its === number && (!file || about.captures[capture].startsWith(file));
        const receiver = (j) => about.captures.indexOf(`n${c.to[j]}.pcap`);
        ofSend = (i) => {
          if (same(s.capture[i], s.frame[i])) return true;
          for (let j = s.copies[i]; j < s.copies[i + 1]; j++) if (c.frame[j] && same(receiver(j), c.frame[j])) return true;
          for (let j = s.passed[i]; j < s.passed[i + 1]; j++) if (same(this.passed.capture[j], this.passed.frame[j])) return true;
          return false;
        };
        ofNote = (i) => same(n.capture[i], n.frame[i]);
      } else if (word === "lost") { ofSend = hasLost; ofNote = () => false;
      } else if (word === "again" || word === "retx") { ofSend = (i) => s.original[i] >= 0; ofNote = () => false;
      } else if (word === "fail" || word === "failing") {
        ofSend = (i) => s.about[i] > 0 && failing.has(tutti.messageName(s.about[i], s.seq[i]));
        ofNote = (i) => this.failing[i] === 1;
      } else {
        const types = new Set(this.types.flatMap((type, index) => `${type.name} ${type.title}`.toLowerCase().includes(word) ? [index] : []));
        const kinds = new Set(Object.entries(about.kinds).flatMap(([kind, name]) => name.toLowerCase().includes(word) ? [+kind] : []));
        const said = new Set(this.words.flatMap((text, index) => text.toLowerCase().includes(word) ? [index] : []));
        ofSend = (i) => types.has(s.type[i]);
        ofNote = (i) => kinds.has(n.kind[i]) || said.has(n.words[i]);
      }
      for (let i = 0; i < s.count; i++) if (sends[i] && !ofSend(i)) sends[i] = 0;
      for (let i = 0; i < n.count; i++) if (notes[i] && !ofNote(i)) notes[i] = 0;
    }
    const found = [];
    for (let i = 0; i < s.count; i++) if (sends[i]) found.push({ what: "send", index: i });
    for (let i = 0; i < n.count; i++) if (notes[i]) found.push({ what: "note", index: i });
    return found.sort((a, b) => this.timeOf(a) - this.timeOf(b));
  }

  // How far a node's clock was from true time when it last said something before a place.
  skewAt(node, place) {
    this.saidBy ??= Map.groupBy(this.byNote, (i) => this.notes.node[i]);
    const said = this.saidBy.get(node);
    if (!said) return 0;
    let low = 0, high = said.length;
    while (low < high) { const middle = (low + high) >> 1; if (this.nx[said[middle]] <= place) low = middle + 1; else high = middle; }
    return this.notes.skew[said[Math.max(0, low - 1)]];
  }

  timeOf({ what, index }) { return what === "note" ? this.notes.time[index] : what === "copy" ? this.copies.time[index] : this.sends.time[index]; }
  placeOf({ what, index }) { return what === "note" ? this.nx[index] : what === "copy" ? this.cx[index] : this.sx[index]; }

  dissected(send) {
    const { pdus, sends } = this, which = sends.pdu[send];
    const bytes = pdus.bytes.subarray(pdus.start[which], pdus.start[which + 1]);
    return tutti.dissect(this.types[sends.type[send]].row, bytes, pdus.whole[which]);
  }
  message(about, seq) { return about ? tutti.messageName(about, seq) : ""; }
};
