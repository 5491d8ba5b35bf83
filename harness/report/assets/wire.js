// Dissects PDUs in the page, with the rows of the wire table that the page carries.
"use strict";
tutti.dissect = (row, bytes, whole) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), values = {}, lines = [];
  let at = row.begin;
  const number = (width, signed) => {
    const place = at;
    at += width;
    if (width === 8) return signed ? view.getBigInt64(place) : view.getBigUint64(place);
    if (width === 4) return signed ? view.getInt32(place) : view.getUint32(place);
    if (width === 2) return signed ? view.getInt16(place) : view.getUint16(place);
    return signed ? view.getInt8(place) : view.getUint8(place);
  };
  const hex = (from, to) => Array.from(bytes.subarray(from, to), (b) => b.toString(16).padStart(2, "0")).join(" ");
  const count = ([how, ...names]) => how === "exactly" ? names[0]
    : how === "of" ? names.reduce((product, name) => product * Number(values[name]), 1)
    : values[names[0]].reduce((sum, value) => sum + Number(value), 0);
  for (const [name, kind, meaning] of row.fields) {
    let value, shown;
    switch (kind[0]) {
      case "u": value = number(kind[1], false); shown = String(value); break;
      case "s": value = number(kind[1], true); shown = String(value); break;
      case "flags":
        value = number(kind[1], false);
        shown = [value, ...kind[2].filter((_, bit) => Number(value) >> bit & 1)].join(" ");
        break;
      case "vector":
        value = Array.from({ length: count(kind[3]) }, () => number(kind[2], kind[1] === "s"));
        shown = value.length ? value.join(" ") : "(none)";
        break;
      case "members": {
        const size = 4 * Math.ceil(Number(values[kind[1]]) / 32);
        value = [];
        for (let j = 1; j <= Number(values[kind[1]]); j++)
          if (bytes[at + size - 1 - ((j - 1) >> 3)] >> ((j - 1) & 7) & 1) value.push(j);
        at += size;
        shown = value.length ? value.map((j) => "n" + j).join(" ") : "(nobody)";
        break;
      }
      case "records":
        value = Array.from({ length: count(kind[2]) }, () => kind[1].map(([, width]) => number(width, false)));
        shown = value.length ? value.map((record) => `<${record.join(",")}>`).join(" ") : "(none)";
        break;
      case "address":
        value = hex(at, at + kind[1]).split(" ");
        shown = kind[1] === 4 ? value.map((b) => parseInt(b, 16)).join(".") : value.join("").match(/.{4}/g).join(":");
        at += kind[1];
        break;
      case "bytes": value = hex(at, at + kind[1]); at += kind[1]; shown = value; break;
      default: {
        const rest = bytes.subarray(at), printable = rest.length && rest.every((b) => b >= 32 && b < 127);
        const missing = whole - bytes.length;
        value = rest;
        shown = !rest.length ? "(empty)" : printable ? JSON.stringify(new TextDecoder().decode(rest)) : hex(at, bytes.length);
        if (missing > 0) shown += ` … ${missing} more bytes`;
      }
    }
    values[name] = value;
    lines.push([name, shown, meaning]);
  }
  return lines;
};
