// Two snapshots: a lease that is taken while the old owner commits covers what that commit wrote (architecture §4.2).

import { expect, test } from "vitest";
import { decodeHistory } from "../../src/core/history-row.ts";
import {
  ALPHA,
  BETA,
  eventText,
  fresh,
  sendItem,
  startItem,
  TARGETS,
  turnItem,
} from "../../src/testing/conformance/fixture.ts";
import { VirtualEnvironment } from "../../src/testing/virtual-environment.ts";
import { openStoreFor, ownSchema } from "./support.ts";

const ROUNDS = 1_000;

test(`in ${ROUNDS} rounds a lease sees the events of the commit it met, and not its messages`, async () => {
  const environment = new VirtualEnvironment();
  const schema = ownSchema();
  const owner = await openStoreFor([ALPHA, BETA], { environment, schema });
  const taker = await openStoreFor([], { environment, schema });
  const lease = { limit: 10, targets: TARGETS, allowSuspect: true, messagesMax: 100 };
  await owner.commit([startItem({ id: "a" })]);
  const met = { committed: 0, refused: 0, taken: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    // ALPHA holds it under a lease that has run out: whoever comes first has it.
    const token = fresh();
    const { instances } = await owner.leaseInstances({ ...lease, owner: ALPHA, token, leaseMs: 1 });
    const [leased] = instances;
    if (leased === undefined) throw new Error("There was nothing to lease.");
    await owner.commit([sendItem({ id: "a" }), sendItem({ id: "a" })]);
    await environment.advance(2);
    const held = { ...leased, runId: "r" };
    const consumed = leased.messages.map(({ id }) => id);
    const turn = turnItem(held, { events: [eventText()], consumed });
    const [[result], taken] = await Promise.all([
      owner.commit([turn]),
      taker.leaseInstances({ ...lease, owner: BETA, token: fresh(), leaseMs: 1 }),
    ]);
    const isCommitted = result?.kind === "committed";
    met[isCommitted ? "committed" : "refused"] += 1;
    const [found] = taken.instances;
    if (found !== undefined) {
      met.taken += 1;
      const events = decodeHistory(found.history);
      expect(events).toHaveLength(found.lastEvent);
      const before = leased.lastEvent;
      expect(found.lastEvent).toBe(isCommitted ? before + 1 : before);
      const ids = new Set(found.messages.map(({ id }) => id));
      expect(consumed.some((id) => ids.has(id))).toBe(!isCommitted && consumed.length > 0);
    }
    // Whoever has it now lets it go, with one message left to make it due.
    const holder = found ?? { ...held, lastEvent: held.lastEvent + (isCommitted ? 1 : 0) };
    const all = await owner.readInbox(leased.key);
    await owner.commit([
      turnItem(
        { ...holder, runId: "r" },
        { consumed: all.slice(1).map(({ id }) => id), release: true },
      ),
    ]);
  }
  expect(met.committed + met.refused).toBe(ROUNDS);
  expect(met.taken).toBeGreaterThan(ROUNDS / 10);
  expect(met.committed).toBeGreaterThan(ROUNDS / 100);
});
