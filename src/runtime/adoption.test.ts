// Which starts of its own process a runtime takes before they are in the store (AD1, AD2).

import { expect, test } from "vitest";
import { orchestration } from "../core/definitions.ts";
import type { StartItem } from "../core/provider/commit.ts";
import type { LeasedInstance } from "../core/provider/instances.ts";
import { startItem } from "../testing/conformance/fixture.ts";
import { Adoption } from "./adoption.ts";
import { Registry } from "./registry.ts";

const work = orchestration("work", async () => "done");

function adopting(room: number, heldBack = 0) {
  const taken: LeasedInstance[] = [];
  const delays: number[] = [];
  let token = 0;
  const adoption = new Adoption({
    registry: new Registry([work]),
    room: () => room,
    isHeldBack: (name, priority) => name === "work" && priority === heldBack,
    newLease: () => ({ owner: "me", token: ++token }),
    take: (instance) => void taken.push(instance),
    storeNow: () => 1_000,
    onDelayed: (delayMs) => void delays.push(delayMs),
    onUnknown: () => undefined,
  });
  return { adoption, taken, delays };
}

const named = (fields: Partial<StartItem> = {}): StartItem =>
  startItem({ id: "i", name: "work", version: null, ...fields });

test("AD1: a start is taken while there is room, those counted whose answer is still to come", () => {
  const { adoption } = adopting(2);
  expect(adoption.offer(named())).toEqual({ owner: "me", token: 1 });
  expect(adoption.offer(named())).toEqual({ owner: "me", token: 2 });
  expect(adoption.offer(named())).toBeNull();
  expect([1, 2, 3].map((token) => adoption.isExpected(token))).toEqual([true, true, false]);
  const lease = { owner: "me", token: 1 };
  adoption.settled(named({ lease }), { kind: "refused", code: "INSTANCE_EXISTS" });
  expect(adoption.isExpected(1)).toBe(false);
  expect(adoption.offer(named())).toEqual({ owner: "me", token: 3 });
});

test("AD1: what is not registered here, in that version, is left to others", () => {
  const { adoption } = adopting(9);
  expect(adoption.offer(named({ name: "other" }))).toBeNull();
  expect(adoption.offer(named({ version: "9.0.0" }))).toBeNull();
  expect(adoption.offer(named({ version: work.version }))).not.toBeNull();
});

test("AD3: a start that the begin window holds back is not taken", () => {
  const { adoption } = adopting(9, 3);
  expect(adoption.offer(named({ priority: 3 }))).toBeNull();
  expect(adoption.offer(named({ priority: 1 }))).not.toBeNull();
});

test("AD2: a delayed start is not taken, and is looked for when its time comes", () => {
  const { adoption, delays } = adopting(9);
  expect(adoption.offer(named({ delayMs: 50 }))).toBeNull();
  expect(adoption.offer(named({ dueAt: 1_250 }))).toBeNull();
  expect(adoption.offer(named({ delayMs: 0 }))).toBeNull();
  expect(delays).toEqual([50, 250, 0]);
});

test("what was taken is what was asked for; a start that found another, or got no lease, is not", () => {
  const { adoption, taken } = adopting(9);
  const lease = adoption.offer(named());
  const message = { id: 7 } as never;
  const item = named({ lease, priority: 3, version: work.version });
  adoption.settled(item, { kind: "existing", key: 1, execution: 1 });
  adoption.settled(item, { kind: "started", key: 1, execution: 1, leased: null });
  adoption.settled(named({ lease: null }), {
    kind: "started",
    key: 1,
    execution: 1,
    leased: message,
  });
  expect(taken).toEqual([]);
  adoption.settled(item, { kind: "started", key: 5, execution: 2, leased: message });
  const { id, runId, name, version } = item;
  expect(taken).toEqual([
    {
      ...{ key: 5, id, runId, name, version, execution: 2, token: 1, lastEvent: 0, priority: 3 },
      ...{
        copiedUntil: 0,
        suspicion: 0,
        stepsOpen: false,
        fresh: true,
        messages: [message],
        history: [],
      },
    },
  ]);
});
