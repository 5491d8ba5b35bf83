// Colours and shapes. The palette is Okabe and Ito's, told apart by all kinds of colour vision; red is for loss alone.
"use strict";
tutti.palette = {
  light: { types: ["#0072b2", "#c77700", "#009e73", "#b0559a", "#3a9fd8", "#8a5a2b", "#8f8400", "#6b7280", "#00857c", "#d1457f"],
    paper: "#ffffff", ink: "#1d2129", soft: "#5c6470", lane: "#9aa2ad", grid: "#e8eaed", fold: "#eceef1", lost: "#d0342c",
    good: "#00735a", mark: "#f0b400", fault: "#e69f00", dim: "#aab1bb", again: "#7a5195" },
  dark: { types: ["#56b4e9", "#f5a94b", "#34c79a", "#df93c6", "#8fd0ff", "#c99a6b", "#e3d84a", "#a5adb8", "#4fd1c5", "#f58ab5"],
    paper: "#1b1f26", ink: "#e6e8eb", soft: "#a0a8b4", lane: "#5d6673", grid: "#2a303a", fold: "#272d37", lost: "#ff6b5e",
    good: "#4cc9a0", mark: "#ffd54a", fault: "#f5a94b", dim: "#596272", again: "#c9a4e8" },
};
tutti.colours = () => tutti.palette[tutti.look.dark() ? "dark" : "light"];
tutti.SHAPES = ["circle", "square", "triangle", "diamond", "inverted_triangle", "hex", "star", "square_pin", "triangle_pin", "circle_cross"];
// NOTEs: how far above the node's line, which shape, how large, filled or not, which colour, and what it means.
tutti.NOTES = {
  1: [.10, "plus", 7, true, "soft", "the process is up"], 2: [.15, "inverted_triangle", 8, false, "ink", "the application handed over a message"],
  3: [.15, "dot", 12, true, "soft", "the message became a PDU"], 4: [.22, "circle", 6, false, "soft", "accepted (RRL)"],
  5: [.30, "circle_dot", 7, false, "soft", "pre-acknowledged (PRL)"], 6: [.38, "circle", 7, true, "dim", "confirmed (ARL)"],
  7: [.46, "triangle", 9, true, "good", "delivered to the application"], 8: [.34, "diamond", 12, true, "again", "a view was installed"],
  9: [.34, "star", 17, true, "lost", "alarm: a person should look"], 10: [.10, "y", 10, false, "ink", "the local clock was moved"],
  11: [.15, "square_x", 8, false, "lost", "refused"], 12: [.07, "dash", 8, false, "dim", "state of the machine"],
  15: [.10, "square", 7, true, "soft", "stopped as asked"], 16: [.40, "square", 9, true, "good", "what the sender was told"],
  17: [.34, "square_cross", 11, false, "lost", "left the group"], 18: [.07, "dot", 9, false, "dim", "a quantity of the machine"],
};
tutti.noteLook = (kind) => tutti.NOTES[kind] ?? [.1, "dot", 9, false, "soft", "a NOTE"];
tutti.typeColour = (model, type) => {
  const base = model.types[type].bare ?? type;
  return tutti.colours().types[base % tutti.colours().types.length];
};
tutti.typeShape = (model, type) => tutti.SHAPES[(model.types[type].bare ?? type) % tutti.SHAPES.length];
// The same shapes for the legend, in a box from -6 to 6.
tutti.PATHS = {
  circle: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0", square: "M-4-4h8v8h-8z", triangle: "M0-5L5 4H-5z",
  inverted_triangle: "M0 5L5-4H-5z", diamond: "M0-6L4.5 0L0 6L-4.5 0z", hex: "M-5 0L-2.5-4.4H2.5L5 0L2.5 4.4H-2.5z",
  star: "M0-6L1.5-2H5.8L2.4.7L3.6 5L0 2.4L-3.6 5L-2.4.7L-5.8-2H-1.5z", square_pin: "M-5-5Q0-2 5-5Q2 0 5 5Q0 2-5 5Q-2 0-5-5z",
  triangle_pin: "M0-6Q1 1 5 4Q0 2-5 4Q-1 1 0-6z", circle_cross: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0M-4.5 0H4.5M0-4.5V4.5",
  circle_dot: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0", dot: "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  plus: "M-1-5h2v4h4v2h-4v4h-2v-4h-4v-2h4z", dash: "M-5 0H5", y: "M0 5V0L-4-4M0 0L4-4", x: "M-5-5L5 5M-5 5L5-5",
  square_x: "M-4-4h8v8h-8zM-4-4L4 4M-4 4L4-4", square_cross: "M-4-4h8v8h-8zM-4 0H4M0-4V4",
};
tutti.icon = (shape, colour, filled) => {
  const name = "http://www.w3.org/2000/svg", svg = document.createElementNS(name, "svg"), path = document.createElementNS(name, "path");
  svg.setAttribute("viewBox", "-7 -7 14 14"); svg.setAttribute("width", 14); svg.setAttribute("height", 14);
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", tutti.PATHS[shape] ?? tutti.PATHS.dot);
  path.setAttribute("fill", filled ? colour : "none"); path.setAttribute("stroke", colour); path.setAttribute("stroke-width", "1.6");
  svg.append(path);
  return svg;
};
