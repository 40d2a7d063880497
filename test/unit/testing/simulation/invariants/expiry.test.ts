import { expect, test } from "vitest";
import type { Carried } from "../../../../../src/testing/simulation/calls.ts";
import { Expiry } from "../../../../../src/testing/simulation/invariants/expiry.ts";
import type { InstanceSnapshot } from "../../../../../src/testing/simulation/invariants/snapshot.ts";

const ENDED_AT = 1_000;
const KEEP_MS = 500;

/** Which instances a sweep at this time may have deleted. All of them ended at ENDED_AT, except "open". */
function mayBeDeleted(at: number, deleted: number): readonly string[] {
  const ids = ["short", "forever", "open"];
  const snapshots = {
    idOf: (key: number) => ids[key],
    last: (id: string) => {
      const isOpen = id === "open";
      const record = isOpen
        ? { status: "running", completedAt: null }
        : { status: "completed", completedAt: ENDED_AT };
      return { record } as InstanceSnapshot; // only the fields that Expiry reads
    },
  };
  const end = (key: number, keepMs?: number) => ({
    ...{ kind: "turn", key },
    change: { kind: "ended", ...(keepMs === undefined ? {} : { keepMs }) },
  });
  const items = [end(0, KEEP_MS), end(1), end(2, KEEP_MS)]; // "open" was rewound since
  const result = items.map(() => ({ kind: "committed" }));
  const call = (fields: object): Carried => fields as unknown as Carried;
  const expiry = new Expiry();
  expect(expiry.see(call({ method: "commit", args: [items], result }), snapshots)).toEqual([]);
  const sweep = { method: "deleteExpired", args: [], result: { instances: deleted } };
  return expiry.see(call({ ...sweep, now: at }), snapshots);
}

test("only an ended instance whose own time is over may disappear", () => {
  expect(mayBeDeleted(ENDED_AT + KEEP_MS, 1)).toEqual(["short"]);
  expect(mayBeDeleted(ENDED_AT + KEEP_MS - 1, 1)).toEqual([]);
});

test("a sweep that deleted nothing explains no deletion", () => {
  expect(mayBeDeleted(ENDED_AT + KEEP_MS, 0)).toEqual([]);
});
