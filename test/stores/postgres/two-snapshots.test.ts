// Two snapshots: a lease taken during a commit of the old owner includes the writes of that commit. A
// message sent during the insert of its receiver is either delivered or refused as INSTANCE_NOT_FOUND.

import { expect, test } from "vitest";
import { decodeHistory } from "../../../src/core/history/rows.ts";
import type { CommitResult } from "../../../src/core/provider/index.ts";
import {
  ALPHA,
  BETA,
  eventText,
  fresh,
  sendItem,
  startItem,
  TARGETS,
  turnItem,
} from "../../../src/testing/conformance/fixture.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { openStoreFor, ownSchema } from "./support.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const ROUNDS = IS_FULL ? 1_000 : 400;

test(`in ${ROUNDS} rounds a lease includes the events of a concurrent commit, and not the messages that the commit consumed`, async () => {
  const environment = new VirtualEnvironment();
  const schema = ownSchema();
  const owner = await openStoreFor([ALPHA, BETA], { environment, schema });
  const taker = await openStoreFor([], { environment, schema });
  const lease = { limit: 10, targets: TARGETS, allowSuspect: true, messagesMax: 100 };
  await owner.commit([startItem({ id: "a" })]);
  const counts = { committed: 0, refused: 0, taken: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    // ALPHA holds the instance with an expired lease: the first of the two concurrent calls wins.
    const token = fresh();
    const { instances } = await owner.leaseInstances({ ...lease, owner: ALPHA, token, leaseMs: 1 });
    const [leased] = instances;
    if (leased === undefined) throw new Error("no instance could be leased");
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
    counts[isCommitted ? "committed" : "refused"] += 1;
    const [found] = taken.instances;
    if (found !== undefined) {
      counts.taken += 1;
      const events = decodeHistory(found.history);
      expect(events).toHaveLength(found.lastEvent);
      const before = leased.lastEvent;
      expect(found.lastEvent).toBe(isCommitted ? before + 1 : before);
      const ids = new Set(found.messages.map(({ id }) => id));
      expect(consumed.some((id) => ids.has(id))).toBe(!isCommitted && consumed.length > 0);
    }
    // The current owner releases the instance, with one message left to make it due.
    const holder = found ?? { ...held, lastEvent: held.lastEvent + (isCommitted ? 1 : 0) };
    const all = await owner.readInbox(leased.key);
    await owner.commit([
      turnItem(
        { ...holder, runId: "r" },
        { consumed: all.slice(1).map(({ id }) => id), release: true },
      ),
    ]);
  }
  expect(counts.committed + counts.refused).toBe(ROUNDS);
  expect(counts.taken).toBeGreaterThan(ROUNDS / 10);
  expect(counts.committed).toBeGreaterThan(ROUNDS / 100);
});

const STARTS = IS_FULL ? 400 : 200;

test(`in ${STARTS} rounds a send during the insert of its instance is delivered or refused as INSTANCE_NOT_FOUND`, async () => {
  const environment = new VirtualEnvironment();
  const schema = ownSchema();
  const owner = await openStoreFor([ALPHA], { environment, schema });
  const sender = await openStoreFor([], { environment, schema });
  const counts = { delivered: 0, missing: 0 };
  for (let round = 0; round < STARTS; round++) {
    const id = `new-${round}`;
    const send = (): Promise<readonly CommitResult[]> =>
      sender.commit([sendItem({ id, requestId: `r-${fresh()}` })]);
    const [, ...answers] = await Promise.all([
      owner.commit([startItem({ id })]),
      ...Array.from({ length: 4 }, send),
    ]);
    const results = answers.flat();
    for (const answer of results) {
      if (answer.kind === "done") counts.delivered += 1;
      else expect(answer).toEqual({ kind: "refused", code: "INSTANCE_NOT_FOUND" });
    }
    const delivered = results.filter(({ kind }) => kind === "done").length;
    counts.missing += results.length - delivered;
    const key = (await owner.readInstance(id))?.key ?? 0;
    const events = (await owner.readInbox(key)).filter(({ kind }) => kind === "event");
    expect(events).toHaveLength(delivered);
  }
  expect(counts.delivered).toBeGreaterThan(0);
  expect(counts.missing).toBeGreaterThan(0);
});

const EVENT_ROUNDS = 200;

test(`in ${EVENT_ROUNDS} rounds an event sent during a turn makes its instance due, also after a turn that parks events`, async () => {
  const environment = new VirtualEnvironment();
  const schema = ownSchema();
  const owner = await openStoreFor([ALPHA], { environment, schema });
  const sender = await openStoreFor([], { environment, schema });
  const [started] = await owner.commit([
    startItem({ id: "a", lease: { owner: ALPHA, token: 1, leaseMs: 1_000 } }),
  ]);
  if (started?.kind !== "started") throw new Error("the instance was not started");
  const held = { id: "a", key: started.key, execution: 1, token: 1, lastEvent: 0, runId: "r" };
  const due = async () => (await owner.takeMessages([held.key], 100)).get(held.key) ?? [];
  const commit = async (fields: Parameters<typeof turnItem>[1]) => {
    const [result] = await owner.commit([turnItem(held, { events: [eventText()], ...fields })]);
    expect(result?.kind).toBe("committed");
    held.lastEvent += 1;
  };
  for (let round = 0; round < EVENT_ROUNDS; round++) {
    const consumed = (await due()).map(({ id }) => id);
    const isParking = round % 4 === 3;
    await Promise.all([
      commit({ consumed, ...(isParking ? { waitingEvents: "park" } : {}) }),
      ...Array.from({ length: 3 }, () => sender.commit([sendItem({ id: "a" })])),
    ]);
    if (isParking) await commit({ waitingEvents: "ready" });
    const waiting = (await owner.readInbox(held.key)).map(({ id }) => id);
    expect((await due()).map(({ id }) => id)).toEqual(waiting);
  }
});
