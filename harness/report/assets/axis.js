// Three ways to lay out time: true time with idle stretches folded, true time to scale, causal order.
"use strict";
tutti.Axis = class {
  constructor(folding, mode) {
    this.mode = mode;
    this.times = folding.times;
    this.places = mode === "folded" ? folding.places : folding.times.map((time) => time - folding.times[0]);
    this.folds = mode === "folded" ? folding.folds : [];
    const last = this.places.length - 1;
    this.length = this.places[last];
    this.foldBegins = this.folds.map(([begin]) => begin);
  }
  static map(from, to, value) {
    const last = from.length - 1;
    if (value <= from[0]) return to[0] + (value - from[0]);
    if (value >= from[last]) return to[last] + (value - from[last]);
    const i = Math.max(1, tutti.lowerBound(from, value));
    const share = (value - from[i - 1]) / (from[i] - from[i - 1] || 1);
    return to[i - 1] + share * (to[i] - to[i - 1]);
  }
  place(time) { return tutti.Axis.map(this.times, this.places, time) / 1e6; }
  time(place) { return tutti.Axis.map(this.places, this.times, place * 1e6); }
  // The pieces of a stretch of places that are not folded.
  pieces(from, to) {
    const found = [];
    let begin = from;
    for (let i = Math.max(0, tutti.lowerBound(this.foldBegins, this.time(from)) - 1); i < this.folds.length; i++) {
      const [left, right] = this.folds[i].map((time) => this.place(time));
      if (left >= to) break;
      if (right <= begin) continue;
      if (left > begin) found.push([begin, left]);
      begin = Math.max(begin, right);
    }
    if (begin < to) found.push([begin, to]);
    return found;
  }
  // Round times, about so many pixels apart, none where time is folded: [place, label].
  ticks(start, end, width, apart = 110) {
    const found = [], span = end - start;
    if (!(span > 0) || width < 10) return found;
    const steps = Math.max(2, Math.round(width / apart)), pixel = span / width;
    let last = -Infinity;
    for (let i = 0; i < steps; i++) {
      const from = Math.max(start + i * span / steps, last + 76 * pixel), to = start + (i + 1) * span / steps - 8 * pixel;
      if (to - from < 6 * pixel) continue;
      const [piece] = this.mode === "causal" ? [[from, to]] : this.pieces(from, to).sort((a, b) => (b[1] - b[0]) - (a[1] - a[0]));
      if (!piece || piece[1] - piece[0] < 6 * pixel) continue;
      const [low, high] = piece.map((place) => this.mode === "causal" ? place : this.time(place)), [value, step] = tutti.roundest(low, high);
      const place = this.mode === "causal" ? value : this.place(value);
      found.push([place, this.mode === "causal" ? String(value) : tutti.showTime(value, step)]);
      last = place;
    }
    return found;
  }
};
// The roundest number in (from, to), and the step that it is a multiple of.
tutti.roundest = (from, to) => {
  for (let power = 12; power >= -3; power--)
    for (const digit of [5, 2, 1]) {
      const step = digit * 10 ** power, value = Math.ceil(from / step) * step;
      if (value <= to) return [value, step];
    }
  return [from, 1];
};
tutti.showTime = (ns, step = 1) => {
  const digits = Math.max(0, Math.min(6, 6 - Math.floor(Math.log10(Math.max(1, step)) + 1e-9)));
  return (ns / 1e6).toFixed(digits).replace("-0 ", "0 ").replace("-", "−") + " ms";
};
tutti.showSpan = (ns) => ns === 0 ? "0" : ns >= 9.995e8 ? `${(ns / 1e9).toPrecision(3)} s` : ns >= 9.995e5 ? `${(ns / 1e6).toPrecision(3)} ms`
  : `${(ns / 1e3).toPrecision(3)} µs`;
