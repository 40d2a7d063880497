// The bytes of a pipeline.

import { describe, expect, test } from "vitest";
import { Wire } from "../../../../src/postgres/connection/wire.ts";
import { Pipeline, Statement } from "../../../../src/postgres/connection/pipeline.ts";
import { ColumnArrays } from "../../../../src/postgres/sql/column-arrays.ts";

const COLUMNS = new ColumnArrays({
  whole: "bigint",
  real: "double precision",
  flag: "boolean",
  note: "text",
});

interface Message {
  readonly type: string;
  readonly body: Buffer;
}

/** The messages in the buffer. Throws if a length does not match. */
function messagesIn(bytes: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readInt32BE(at + 1);
    const body = bytes.subarray(at + 5, at + 1 + length);
    expect(body.length).toBe(length - 4);
    messages.push({ type: String.fromCharCode(bytes[at] ?? 0), body });
    at += 1 + length;
  }
  return messages;
}

/** The values of a Bind message without names: format and bytes of each. */
function valuesOf(body: Buffer): { readonly format: number; readonly bytes: Buffer | null }[] {
  let at = 2; // two empty names
  const count = body.readInt16BE(at);
  at += 2 + 2 * count + 2;
  return Array.from({ length: count }, (_, index) => {
    const format = body.readInt16BE(4 + 2 * index);
    const length = body.readInt32BE(at);
    at += 4;
    if (length < 0) return { format, bytes: null };
    at += length;
    return { format, bytes: body.subarray(at - length, at) };
  });
}

function bound(values: Parameters<Wire["bind"]>[1]) {
  const wire = new Wire();
  wire.bind("", values);
  const [message] = messagesIn(wire.bytes);
  if (message === undefined) throw new Error("There must be one message.");
  return valuesOf(message.body);
}

function boundColumns(rows: Parameters<typeof COLUMNS.values>[0]) {
  const pipeline = new Pipeline();
  pipeline.add(new Statement("SELECT 1"), COLUMNS.values(rows));
  return bound(pipeline.steps[0]?.values ?? []);
}

test("messages have their lengths, also after the buffer has grown", () => {
  const wire = new Wire();
  const long = "é".repeat(100_000);
  wire.parse("name", long);
  wire.bind("name", [long, null, "short"]);
  wire.describePortal();
  wire.execute();
  wire.closeStatement("name");
  const messages = messagesIn(wire.bytes);
  expect(messages.map(({ type }) => type)).toEqual(["P", "B", "D", "E", "C"]);
  expect(messages[0]?.body.toString("utf8")).toBe(`name\0${long}\0\0\0`);
});

test.each(["", "ab", "é€😀", "x".repeat(32), "é".repeat(32), "y".repeat(33), "\ud800"])(
  "the text %j is written as UTF-8",
  (value) => {
    const [written] = bound([value]);
    expect(written).toEqual({ format: 0, bytes: Buffer.from(value) });
  },
);

describe("a column", () => {
  const ROWS = [
    { whole: -1, real: 0.5, flag: true, note: "a" },
    { whole: Number.MAX_SAFE_INTEGER, real: -2, flag: null, note: null },
    { whole: Number.MIN_SAFE_INTEGER, real: null, flag: false, note: '"\\' },
    { whole: null, real: 1e300, flag: true, note: "é" },
  ];
  const NONE = { whole: null, real: null, flag: null, note: null };

  test("of whole numbers holds every number of 53 bits", () => {
    const [whole] = boundColumns(ROWS);
    expect(whole?.format).toBe(1);
    const bytes = whole?.bytes ?? Buffer.alloc(0);
    expect(bytes.readInt32BE(8)).toBe(20); // the type
    expect(bytes.readInt32BE(12)).toBe(ROWS.length);
    expect([24, 36, 48].map((at) => Number(bytes.readBigInt64BE(at)))).toEqual([
      -1,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ]);
    expect(bytes.readInt32BE(56)).toBe(-1); // NULL
  });

  test("without a value is an empty array", () => {
    const written = boundColumns([NONE, NONE]);
    for (const { format, bytes } of written) {
      expect(format).toBe(1);
      expect(bytes?.length).toBe(12);
      expect(bytes?.readInt32BE(0)).toBe(0);
    }
  });

  test("with a value of the wrong type is sent as text, so that the server refuses it", () => {
    const [whole, real] = boundColumns([{ ...NONE, whole: 1.5, real: 1 }]);
    expect(whole).toEqual({ format: 0, bytes: Buffer.from("{1.5}") });
    expect(real?.format).toBe(1);
  });
});
