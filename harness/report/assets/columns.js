// The columns of a scene: from base64 of gzip to typed arrays.
"use strict";
tutti.unpack = async (text) => {
  const raw = atob(text.trim()), packed = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) packed[i] = raw.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = await new Response(stream).arrayBuffer();
  const size = new DataView(bytes).getUint32(0, true);
  const directory = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, size)));
  const columns = {};
  for (const [name, [array, place, count]] of Object.entries(directory.columns))
    columns[name] = new globalThis[array](bytes, 4 + size + place, count);
  return { columns, about: directory.about };
};
// A message as people read it: 2:17, and 2:1/17 where the incarnation stands above the number.
tutti.messageName = (about, seq) => {
  const incarnation = Math.floor(seq / 2 ** 32);
  return incarnation > 0 && incarnation < 65536 ? `${about}:${incarnation}/${seq % 2 ** 32}` : `${about}:${seq}`;
};
// The first index in an ascending array with a value of at least `wanted`.
tutti.lowerBound = (array, wanted) => {
  let low = 0, high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
};
