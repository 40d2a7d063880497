// The JSON text of long strings equals that of JSON.stringify.

import { expect, test } from "vitest";
import type { EventBody } from "../../../../src/core/history/events.ts";
import { decodeRow, encodeRow } from "../../../../src/core/history/rows.ts";
import { stringText, textOfText } from "../../../../src/core/values/json-text.ts";

const LENGTH = 1_500;
const POSITIONS = [0, 700, LENGTH];

/** A long string with one character at that position. */
function around(char: string, position: number): string {
  return "a".repeat(position) + char + "b".repeat(LENGTH - position);
}

test("JT1: every character gives the text that JSON.stringify writes", () => {
  const chars = Array.from({ length: 0x300 }, (_, code) => String.fromCharCode(code));
  chars.push("\u2028", "€", "\ud800", "\udc00", "😀");
  for (const char of chars) {
    for (const position of POSITIONS) {
      const value = around(char, position);
      expect(stringText(value)).toBe(JSON.stringify(value));
      const texts = [value, `"${value}"`, JSON.stringify(value), `"${value}`, `${value}"`];
      for (const text of texts) expect(textOfText(text)).toBe(JSON.stringify(text));
    }
  }
});

test("JT2: short strings and strings at the bound give the same text too", () => {
  for (const length of [0, 1, 2, 998, 999, 1_000, 1_001, 1_002]) {
    const value = "x".repeat(length);
    expect(stringText(value)).toBe(JSON.stringify(value));
    expect(textOfText(`"${value}"`)).toBe(JSON.stringify(`"${value}"`));
    expect(textOfText('"'.repeat(length))).toBe(JSON.stringify('"'.repeat(length)));
  }
});

test("JT3: a row with a long output is the text that JSON.stringify writes", () => {
  const output = JSON.stringify("x".repeat(LENGTH));
  const e: EventBody[] = [
    { kind: "ActivityCompleted", scheduled: 2, output, attempts: 1 },
    { kind: "ActivityScheduled", name: 'a"b', input: JSON.stringify({ text: "c\nd" }) },
    { kind: "StepCompleted", scheduled: 3, output: JSON.stringify({ long: output }), attempts: 2 },
  ];
  const data = encodeRow(1_000.5, e);
  const { v, r } = JSON.parse(data) as { v: number; r: string };
  expect(data).toBe(JSON.stringify({ v, at: 1_000.5, r, e }));
  expect(decodeRow({ first: 1, last: 3, data })).toMatchObject(e);
});
