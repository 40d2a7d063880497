import { expect, test } from "vitest";
import { orchestration } from "../../../../src/core/define/definitions.ts";
import type { LeasedInstance } from "../../../../src/core/provider/instances.ts";
import { holdInstance } from "../../../../src/runtime/instances/held-instance.ts";
import { PastBlocks } from "../../../../src/runtime/instances/past-blocks.ts";

const order = orchestration("order", async () => null);
const NONDETERMINISM = { code: "NONDETERMINISM", message: "event 3 is a timer" } as const;
const QUARANTINE = { code: "QUARANTINE", message: "its process died again and again" } as const;

function setup() {
  const lines: string[] = [];
  const past = new PastBlocks((_level, message) => void lines.push(message));
  return { past, lines };
}

function leased(changes: Partial<LeasedInstance> = {}): LeasedInstance {
  return {
    key: 1,
    id: "order-7",
    runId: "r",
    name: "order",
    version: "1.0.0",
    execution: 1,
    token: 1,
    lastEvent: 4,
    priority: 3,
    copiedUntil: 0,
    suspicion: 0,
    blocked: null,
    stepsOpen: false,
    fresh: true,
    messages: [],
    history: [],
    ...changes,
  };
}

const held = (changes: Partial<LeasedInstance> = {}) => holdInstance(leased(changes), order, 0);

test("a block is known from the lease, or because this runtime wrote it", () => {
  const { past, lines } = setup();
  past.committed(held(), true);
  expect(lines).toEqual([]);
  past.leased(leased({ blocked: JSON.stringify(NONDETERMINISM) }));
  past.committed(held(), false);
  past.committed(held(), true);
  past.blocked(held(), NONDETERMINISM);
  past.leased(leased());
  past.committed(held(), false);
  const line = "order, order-7: continues after having been blocked (NONDETERMINISM)";
  expect(lines).toEqual([line, line]);
});

test.each([
  ["has more events", { lastEvent: 5 }],
  ["is in its next execution", { execution: 2 }],
])("PB2: an instance that %s continued elsewhere, and no line is written", (_, changes) => {
  const { past, lines } = setup();
  past.blocked(held(), NONDETERMINISM);
  past.leased(leased(changes));
  past.committed(held(changes), true);
  expect(lines).toEqual([]);
});

test("a quarantine ends with the commit that clears it, not before", () => {
  const { past, lines } = setup();
  past.leased(leased({ blocked: JSON.stringify(QUARANTINE) }));
  past.committed(held(), false);
  expect(lines).toEqual([]);
  past.committed(held(), true);
  expect(lines).toEqual(["order, order-7: continues after having been blocked (QUARANTINE)"]);
});

test("at most 1,000 blocks are remembered; the oldest are forgotten first", () => {
  const { past, lines } = setup();
  for (let key = 1; key <= 1_001; key++) past.blocked(held({ key }), NONDETERMINISM);
  past.committed(held({ key: 1 }), true);
  expect(lines).toEqual([]);
  past.committed(held({ key: 2 }), true);
  expect(lines).toHaveLength(1);
});
