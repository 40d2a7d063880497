// Contract of request ids: a repeated call has one effect and one outcome (semantics 1, 18a).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  eventText,
  fresh,
  refused,
  sendItem,
  startItem,
  terminateItem,
} from "../fixture.ts";

const REUSED = refused("KEY_REUSED");

export const requests: ContractSubject = {
  subject: "requests",
  cases: [
    {
      title: "a start that is repeated with its request id returns the first outcome",
      async run(setup) {
        const item = startItem({ id: "a", requestId: "r" });
        const first = await setup.commit(item);
        expect(first).toMatchObject({ kind: "started", execution: 1 });
        expect(await setup.commit(item)).toEqual(first);
        const retyped = startItem({ id: "a", requestId: "r" });
        expect(await setup.commit(retyped)).toEqual(first);
        const record = await setup.read("a");
        expect(record.runId).toBe(item.runId);
        expect(await setup.inboxKinds(record.key)).toEqual(["start"]);
      },
    },
    {
      title: "a start with a different request id follows its conflict policy",
      async run(setup) {
        await setup.commit(startItem({ id: "a", requestId: "r" }));
        expect(await setup.commit(startItem({ id: "a", requestId: "s" }))).toEqual(
          refused("INSTANCE_EXISTS"),
        );
        expect(await setup.commit(startItem({ id: "a", requestId: null }))).toEqual(
          refused("INSTANCE_EXISTS"),
        );
      },
    },
    {
      title: "a repetition within one group is recognized",
      async run(setup) {
        const item = startItem({ id: "a", requestId: "r" });
        const [first, second] = await setup.provider.commit([item, item]);
        expect(first).toMatchObject({ kind: "started" });
        expect(second).toEqual(first);
      },
    },
    {
      title: "a repetition returns the first outcome after the instance has ended",
      async run(setup) {
        const item = startItem({
          id: "a",
          requestId: "r",
          lease: { owner: ALPHA, token: fresh() },
        });
        const first = await setup.commit(item);
        if (first.kind !== "started") throw new Error(`The start must succeed; got ${first.kind}.`);
        const { key, execution } = first;
        const { id, runId } = item;
        const token = item.lease?.token ?? 0;
        const held = { id, runId, key, execution, token, lastEvent: 0 };
        await setup.turn(held, { events: [item.started], consumed: [first.leased?.id ?? -1] });
        await setup.complete(held);
        expect(await setup.commit(item)).toMatchObject({ kind: "started", key, execution: 1 });
        expect(await setup.read("a")).toMatchObject({ status: "completed", execution: 1 });
      },
    },
    {
      title: "a repetition returns the execution that it started and does not affect later ones",
      async run(setup) {
        const held = await setup.hold("a", { requestId: "r" });
        await setup.complete(held);
        const restart = startItem({ id: "a", requestId: "s", onConflict: "restart" });
        expect(await setup.commit(restart)).toMatchObject({ kind: "started", execution: 2 });
        for (const onConflict of ["fail", "restart", "terminateExisting"] as const) {
          const repeated = startItem({ id: "a", requestId: "r", onConflict });
          expect(await setup.commit(repeated)).toMatchObject({ kind: "started", execution: 1 });
        }
        expect(await setup.commit(restart)).toMatchObject({ kind: "started", execution: 2 });
        expect(await setup.read("a")).toMatchObject({ execution: 2, runId: restart.runId });
      },
    },
    {
      title: "a repeated terminateExisting terminates once",
      async run(setup) {
        await setup.hold("a");
        const item = startItem({ id: "a", requestId: "r", onConflict: "terminateExisting" });
        expect(await setup.commit(item)).toMatchObject({ kind: "started", execution: 2 });
        expect(await setup.commit(item)).toMatchObject({ kind: "started", execution: 2 });
        expect(await setup.read("a")).toMatchObject({ execution: 2, status: "pending" });
      },
    },
    {
      title: "a repeated start that met an existing instance returns the same outcome",
      async run(setup) {
        const held = await setup.hold("a");
        const item = startItem({ id: "a", requestId: "r", onConflict: "useExisting" });
        const first = await setup.commit(item);
        expect(first).toEqual({ kind: "existing", key: held.key, execution: 1 });
        expect(await setup.commit(item)).toEqual(first);
      },
    },
    {
      title: "a start and a send can have the same request id",
      async run(setup) {
        const { key } = await setup.start("a", { requestId: "same" });
        expect(await setup.commit(sendItem({ id: "a", requestId: "same" }))).toEqual({
          kind: "done",
        });
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "a send that is repeated after the instance has ended returns done (P4)",
      async run(setup) {
        const held = await setup.hold("a");
        const item = sendItem({ id: "a", requestId: "r" });
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        const consumed = (await setup.due(held)).map((message) => message.id);
        await setup.turn(held, { events: [eventText()], consumed });
        await setup.complete(held);
        expect(await setup.commit(item)).toEqual({ kind: "done" });
      },
    },
    {
      title: "a start with a used request id and a different digest is refused and changes nothing",
      async run(setup) {
        const item = startItem({ id: "a", requestId: "r", requestDigest: "one" });
        const first = await setup.commit(item);
        const other = startItem({ ...item, runId: "another", requestDigest: "two" });
        expect(await setup.commit(other)).toEqual(REUSED);
        expect(await setup.commit({ ...other, onConflict: "terminateExisting" })).toEqual(REUSED);
        expect(await setup.provider.settle(other)).toEqual(REUSED);
        expect(await setup.commit(item)).toEqual(first);
        const { requestDigest: _digest, ...plain } = item;
        expect(await setup.commit(plain)).toEqual(first);
        expect(await setup.read("a")).toMatchObject({ runId: item.runId, execution: 1 });
      },
    },
    {
      title:
        "the digest of a start is stored, even if the start met or restarted an existing instance",
      async run(setup) {
        const held = await setup.hold("a");
        const item = startItem({ id: "a", requestId: "r", requestDigest: "one" });
        await setup.commit({ ...item, onConflict: "useExisting" });
        expect(await setup.commit({ ...item, requestDigest: "two" })).toEqual(REUSED);
        await setup.complete(held);
        const restart = { ...item, requestId: "s", onConflict: "restart" } as const;
        expect(await setup.commit(restart)).toMatchObject({ kind: "started", execution: 2 });
        expect(await setup.commit({ ...restart, requestDigest: "two" })).toEqual(REUSED);
        expect(await setup.commit(restart)).toMatchObject({ kind: "started", execution: 2 });
      },
    },
    {
      title:
        "a send with a used request id and a different digest is refused, also within one group",
      async run(setup) {
        const { key } = await setup.start("a");
        const item = sendItem({ id: "a", data: "1", requestId: "r", requestDigest: "one" });
        const other = { ...item, data: "2", requestDigest: "two" };
        const results = await setup.provider.commit([item, item, other]);
        expect(results).toEqual([{ kind: "done" }, { kind: "done" }, REUSED]);
        expect(await setup.commit(other)).toEqual(REUSED);
        expect(await setup.provider.settle(other)).toEqual(REUSED);
        expect(await setup.provider.settle(item)).toEqual({ kind: "done" });
        const inbox = await setup.provider.readInbox(key);
        expect(inbox.slice(1).map(({ data }) => data)).toEqual(["1"]);
        await setup.commit(terminateItem("a"));
        expect(await setup.commit(other)).toEqual(REUSED);
      },
    },
    {
      title: "the digest of an early event is stored before and after the start of its instance",
      async run(setup) {
        const item = sendItem({ id: "a", data: "1", requestId: "r", requestDigest: "one" });
        const kept = { ...item, ifMissing: "keep" } as const;
        const other = { ...kept, data: "2", requestDigest: "two" };
        expect(await setup.commit(kept)).toEqual({ kind: "done" });
        expect(await setup.commit(other)).toEqual(REUSED);
        expect(await setup.commit({ ...other, ifMissing: "fail" })).toEqual(REUSED);
        expect(await setup.provider.settle(other)).toEqual(REUSED);
        const { key } = await setup.start("a");
        expect(await setup.commit(other)).toEqual(REUSED);
        expect(await setup.commit(kept)).toEqual({ kind: "done" });
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "a request id is remembered for at least seven days (18a)",
      async run(setup) {
        const held = await setup.hold("a");
        const item = sendItem({ id: "a", requestId: "r" });
        await setup.commit(item);
        const consumed = (await setup.due(held)).map((message) => message.id);
        await setup.turn(held, { events: [eventText()], consumed });
        await setup.environment.advance(7 * 86_400_000 - 1);
        await setup.commit(item);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
  ],
};
