import assert from "node:assert/strict";
import { test } from "node:test";

import { Utf8Decoder } from "../lib/utf8.js";

function decode(bytes, chunk) {
  const decoder = new Utf8Decoder();
  let text = "";
  for (let at = 0; at < bytes.length; at += chunk) text += decoder.decode(bytes.slice(at, at + chunk));
  return text + decoder.end();
}

const samples = [
  [...new TextEncoder().encode("plain, grün, 中文, 🚦, \ufeff inside")],
  [0xef, 0xbb, 0xbf, 0x61],
  [0xc0, 0xaf, 0xe0, 0x80, 0x80, 0xf0, 0x82, 0x82, 0xac],
  [0xed, 0xa0, 0x80, 0xf4, 0x90, 0x80, 0x80, 0xf8, 0x88],
  [0xe2, 0x82, 0x41, 0xf0, 0x9f, 0x9a, 0x41, 0xf0, 0x9f],
  [0x80, 0xbf, 0x61, 0xc3],
  [0xff, 0xfe, 0xfd, 0xe2, 0xe2, 0x82, 0xe2, 0x82, 0xac],
  [],
];

test("text is what the encoding standard makes of the bytes, wherever they are cut", () => {
  for (const sample of samples) {
    const bytes = Uint8Array.from(sample);
    for (const chunk of [1, 2, 3, 5, 1000]) {
      assert.equal(decode(bytes, chunk), new TextDecoder().decode(bytes), `${sample} in pieces of ${chunk}`);
    }
  }
});

test("any bytes are decoded like the standard's decoder decodes them", () => {
  // Use a fixed generator, so that a failure can be reproduced.
  let seed = 1;
  const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648) >>> 16;
  const likely = [0x41, 0x0a, 0x80, 0x9f, 0xa0, 0xbf, 0xc2, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xff];
  for (let round = 0; round < 3000; round++) {
    const bytes = Uint8Array.from({ length: next() % 24 }, () => likely[next() % likely.length]);
    assert.equal(decode(bytes, 1 + (next() % 5)), new TextDecoder().decode(bytes), String(bytes));
  }
});

test("a text longer than one call of the engine takes is whole", () => {
  const text = "äb".repeat(20_000);
  assert.equal(decode(new TextEncoder().encode(text), 1 << 20), text);
});
