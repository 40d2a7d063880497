// History rows are read strictly (rows.2): a malformed row raises HISTORY_CORRUPT and is never interpreted by guessing.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isCheckpointDue } from "../../../../src/core/history/checkpoint.ts";
import {
  checkpointOf,
  composeRow,
  decodeHistory,
  decodeRow,
  encodeRow,
  type HistoryRow,
} from "../../../../src/core/history/rows.ts";
import type { EventBody } from "../../../../src/core/history/events.ts";
import { RELEASE } from "../../../../src/core/history/release.ts";
import { REPLAY_VERSION } from "../../../../src/core/history/replay-version.ts";

const BODIES: readonly EventBody[] = [
  { kind: "TimerFired", scheduled: 2 },
  { kind: "OrchestrationCompleted", output: "1" },
];
const row = (first: number, data = encodeRow(5, BODIES)): HistoryRow => ({
  first,
  last: first + 1,
  data,
});

test("a row decodes to its events, each with its sequence number and its time", () => {
  expect(decodeRow(row(7))).toEqual([
    { ...BODIES[0], sequence: 7, at: 5, version: REPLAY_VERSION, release: RELEASE },
    { ...BODIES[1], sequence: 8, at: 5, version: REPLAY_VERSION, release: RELEASE },
  ]);
});

test("a row names the release that wrote it; a copy keeps it, and older rows have none (rows.3)", () => {
  const root = join(import.meta.dirname, "..", "..", "..", "..");
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly version: string;
  };
  expect(RELEASE).toBe(version);
  const composed = composeRow(
    5,
    BODIES.map((body) => JSON.stringify(body)),
  );
  expect(composed).toBe(encodeRow(5, BODIES));
  const releasesOf = (data: string) => decodeRow(row(7, data)).map(({ release }) => release);
  expect(releasesOf(composed)).toEqual([RELEASE, RELEASE]);
  expect(releasesOf(encodeRow(5, BODIES, CHECKPOINT, "0.0.9"))).toEqual(["0.0.9", "0.0.9"]);
  const [older] = decodeRow(row(7, encodeRow(5, BODIES, null, null)));
  expect(older).toEqual({ ...BODIES[0], sequence: 7, at: 5, version: REPLAY_VERSION });
});

const text = JSON.stringify;
const whole = { v: REPLAY_VERSION, at: 5, e: BODIES };
test.each([
  ["is not JSON", "{"],
  ["is null", "null"],
  ["is of a newer version", text({ ...whole, v: REPLAY_VERSION + 1 })],
  ["has no time", text({ ...whole, at: "5" })],
  ["has a release that is not a text", text({ ...whole, r: 1 })],
  ["has an event too few", text({ ...whole, e: BODIES.slice(1) })],
  ["has an event too many", text({ ...whole, e: [...BODIES, ...BODIES] })],
  ["has an event of an unknown kind", text({ ...whole, e: [{ kind: "Dreamt" }, BODIES[1]] })],
  ["has an entry that is not an event", text({ ...whole, e: [null, BODIES[1]] })],
])("a row that %s is refused", (_, data) => {
  expect(() => decodeRow(row(1, data))).toThrow(
    expect.objectContaining({ code: "HISTORY_CORRUPT" }),
  );
});

test("a row with a long output has the text that JSON gives it, whatever the output contains", () => {
  const long = (output: string): EventBody => ({ kind: "OrchestrationCompleted", output });
  const optional = { kind: "TimerFired", scheduled: 2, absent: undefined } as unknown as EventBody;
  const x = "x".repeat(2_000);
  const outputs = [x, `"${x}"`, `${x}"`, `${x}\n`, `${x}é`];
  for (const output of outputs) {
    const bodies = [optional, long(output), { ...optional, text: "short" }, long(output)];
    for (const checkpoint of [null, CHECKPOINT]) {
      for (const release of ["0.0.9", null]) {
        const head = { v: REPLAY_VERSION, at: 5, ...(checkpoint && { c: checkpoint }) };
        const all = { ...head, ...(release === null ? {} : { r: release }), e: bodies };
        expect(encodeRow(5, bodies, checkpoint, release) === text(all)).toBe(true);
      }
    }
  }
});

test("a history that ends before or after its last event is refused", () => {
  expect(decodeHistory([row(1)], 2)).toHaveLength(2);
  expect(decodeHistory([], 0)).toEqual([]);
  for (const last of [1, 3]) {
    const message = `must end at event ${last}; its rows end at event 2`;
    expect(() => decodeHistory([row(1)], last)).toThrow(
      expect.objectContaining({
        code: "HISTORY_CORRUPT",
        message: expect.stringContaining(message),
      }),
    );
  }
});

test("the error of an unreadable row says which row it is and why", () => {
  const reasons: readonly (readonly [readonly HistoryRow[], string])[] = [
    [[row(3)], "row 3–4 cannot be read: earlier events are missing"],
    [[row(1), row(4)], "row 4–5 cannot be read: the previous row ends at event 2"],
    [[row(1, "{")], "row 1–2 cannot be read: its text is not JSON"],
    [[row(1, "7")], "its text is not a row"],
    [[row(1, text({ ...whole, v: "1" }))], "its text is not a row"],
    [[row(1, text({ ...whole, e: [{ kind: "Dreamt" }, 1] }))], 'unknown event {"kind":"Dreamt"}'],
    [[row(1, text({ ...whole, e: [{ kind: 7 }, 1] }))], 'unknown event {"kind":7}'],
    [[row(1, text({ ...whole, e: ["text", 1] }))], 'unknown event "text"'],
  ];
  for (const [rows, reason] of reasons) expect(() => decodeHistory(rows)).toThrow(reason);
  const long = text({ ...whole, e: [{ kind: "x".repeat(500) }, 1] });
  expect(() => decodeHistory([row(1, long)])).toThrow(/unknown event .{80}\.$/);
});

test("the error of a row that is not JSON has the parser's error as its cause", () => {
  const errorOf = (data: string): Error => {
    try {
      decodeRow(row(1, data));
    } catch (error) {
      return error as Error;
    }
    throw new Error("the row is readable");
  };
  expect(errorOf("{").cause).toBeInstanceOf(SyntaxError);
  expect("cause" in errorOf("7")).toBe(false);
});

test("rows with a gap or an overlap are refused", () => {
  expect(decodeHistory([row(1), row(3)])).toHaveLength(4);
  for (const rows of [
    [row(1), row(4)],
    [row(1), row(2)],
  ]) {
    expect(() => decodeHistory(rows)).toThrow(expect.objectContaining({ code: "HISTORY_CORRUPT" }));
  }
});

const CHECKPOINT = { events: [2, 7], unread: [["go", 3]] } as const;

test("only the head of a row is searched for a checkpoint", () => {
  const status: EventBody = { kind: "StatusSet", status: '{"v":1,"at":5,"c":' };
  const quoted = { ...row(7, encodeRow(5, [status, BODIES[1] as EventBody])) };
  expect(checkpointOf(quoted)).toBeNull();
  const late = encodeRow(1_700_000_000_000.25, BODIES, CHECKPOINT).replace(/^\{"v":\d+/, '{"v":10');
  expect(() => checkpointOf(row(7, late))).toThrow("replay version 10");
});

test("a row may have a checkpoint, which does not change its events", () => {
  const marked = row(7, encodeRow(5, BODIES, CHECKPOINT));
  expect(checkpointOf(marked)).toEqual(CHECKPOINT);
  expect(decodeRow(marked)).toEqual(decodeRow(row(7)));
  expect(checkpointOf(row(7))).toBeNull();
});

test.each([
  ["null", null],
  ["has no events", { unread: [] }],
  ["has no unread names", { events: [] }],
  ["lists an event twice", { events: [2, 2], unread: [] }],
  ["is not in order", { events: [7, 2], unread: [] }],
  ["lists event 0", { events: [0], unread: [] }],
  ["lists an event after its row", { events: [9], unread: [] }],
  ["lists a text", { events: ["2"], unread: [] }],
  ["counts no unread event of a name", { events: [], unread: [["go", 0]] }],
  ["has an unread name without a number", { events: [], unread: [["go"]] }],
  ["has a name that is not a text", { events: [], unread: [[1, 1]] }],
])("a checkpoint that %s raises HISTORY_CORRUPT", (_, checkpoint) => {
  const data = `{"v":${REPLAY_VERSION},"at":5,"c":${text(checkpoint)},"e":${text(BODIES)}}`;
  expect(() => checkpointOf(row(7, data))).toThrow("its checkpoint is not valid");
});

test("a damaged row has no checkpoint: it raises HISTORY_CORRUPT", () => {
  const marked = { ...row(7, encodeRow(5, BODIES, CHECKPOINT)), damaged: true as const };
  expect(() => checkpointOf(marked)).toThrow("checksum");
});

test("checkpoints are 256 events apart, or four events per entry (checkpoint.2)", () => {
  expect(isCheckpointDue(1, 255, 1)).toBe(false);
  expect(isCheckpointDue(255, 256, 1)).toBe(true);
  expect(isCheckpointDue(256, 256, 1)).toBe(true);
  expect(isCheckpointDue(257, 511, 1)).toBe(false);
  expect(isCheckpointDue(1, 1_000, 1)).toBe(true);
  expect(isCheckpointDue(512, 512, 64)).toBe(true);
  expect(isCheckpointDue(768, 768, 65)).toBe(false); // the interval is 512
  expect(isCheckpointDue(1_024, 1_024, 65)).toBe(true);
  const due = Array.from({ length: 100_000 }, (_, i) => isCheckpointDue(i + 1, i + 1, 10_000));
  expect(due.filter(Boolean)).toHaveLength(1); // each has 10,000 entries
});
