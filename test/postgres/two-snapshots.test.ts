// Two snapshots: a lease that is taken while the old owner commits covers what that commit wrote (architecture §4.2);
// what is sent while its receiver is born is delivered or refused for the reason that held.

import { expect, test } from "vitest";
import { decodeHistory } from "../../src/core/history-row.ts";
import type { CommitResult } from "../../src/core/provider/index.ts";
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

const BIRTHS = 400;

test(`in ${BIRTHS} rounds a send that meets the birth of its instance is delivered, or finds none`, async () => {
  const environment = new VirtualEnvironment();
  const schema = ownSchema();
  const owner = await openStoreFor([ALPHA], { environment, schema });
  const sender = await openStoreFor([], { environment, schema });
  const met = { delivered: 0, missing: 0 };
  for (let round = 0; round < BIRTHS; round++) {
    const id = `born-${round}`;
    const send = (): Promise<readonly CommitResult[]> =>
      sender.commit([sendItem({ id, requestId: `r-${fresh()}` })]);
    const [, ...answers] = await Promise.all([
      owner.commit([startItem({ id })]),
      ...Array.from({ length: 4 }, send),
    ]);
    const said = answers.flat();
    for (const answer of said) {
      if (answer.kind === "done") met.delivered += 1;
      else expect(answer).toEqual({ kind: "refused", code: "INSTANCE_NOT_FOUND" });
    }
    const delivered = said.filter(({ kind }) => kind === "done").length;
    met.missing += said.length - delivered;
    const key = (await owner.readInstance(id))?.key ?? 0;
    const events = (await owner.readInbox(key)).filter(({ kind }) => kind === "event");
    expect(events).toHaveLength(delivered);
  }
  expect(met.delivered).toBeGreaterThan(0);
  expect(met.missing).toBeGreaterThan(0);
});
