// Contract of dispatched items: a turn writes items to other instances as a client would, and their results
// reach the sender as messages (provider.asks.4).

import { expect } from "vitest";
import type { Dispatch, Message, RefusedDispatch } from "../../../core/provider/index.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  askerOf,
  askItem,
  askStart,
  BETA,
  completedText,
  eventText,
  fresh,
  type Held,
  keepItem,
  LEASE_LOST,
  refused,
  sendItem,
  startItem,
  turnItem,
  withdrawItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";
import { ANSWER, asked, receive, stateOf } from "./asks.ts";

/** Commits a turn that dispatches items; the first one has the sequence of the turn's first event. */
function dispatch(setup: Setup, held: Held, ...items: readonly Dispatch["item"][]) {
  return setup.turn(held, {
    events: items.map(() => eventText()),
    dispatched: numbered(held, items),
  });
}

export function numbered({ lastEvent }: Held, items: readonly Dispatch["item"][]): Dispatch[] {
  return items.map((item, index) => ({ sequence: lastEvent + 1 + index, item }));
}

/** The bodies of messages, with the columns that identify their calls. */
export function replies(messages: readonly Message[]): unknown[] {
  return messages.map(({ kind, execution, sequence, key, data }) => {
    const body: unknown = JSON.parse(data);
    return { kind, execution, sequence, key, body };
  });
}

export const sent = (sequence: number, fields: object = {}) => ({
  kind: "sent",
  execution: 1,
  sequence,
  key: `d:1:${sequence}`,
  body: { kind: "SendCompleted", scheduled: sequence, ...fields },
});
export const notSent = (sequence: number, code: string) => ({
  ...sent(sequence),
  body: { kind: "SendFailed", scheduled: sequence, failure: { code } },
});
const notAsked = (sequence: number, code: string) => ({
  kind: "answer",
  execution: 1,
  sequence,
  key: `a:1:${sequence}`,
  body: { kind: "AskFailed", scheduled: sequence, failure: { code } },
});
const undelivered = (sequence: number, code: RefusedDispatch["code"]) => ({ sequence, code });

export const dispatches: ContractSubject = {
  subject: "dispatched items",
  cases: [
    {
      title: "events reach their receivers in order, and the sender gets a message for each",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const items = ["1", "2"].map((data) => sendItem({ id: "b", data }));
        const result = await dispatch(setup, held, ...items);
        expect(replies(result.due)).toEqual([sent(2), sent(3)]);
        expect(result).not.toHaveProperty("undelivered");
        const due = await setup.due(other);
        expect(due.map(({ data, key }) => [data, key])).toEqual(
          items.map(({ data, requestId }) => [data, requestId]),
        );
        expect(await setup.commit(sendItem({ ...items[0], id: "b" }))).toEqual({ kind: "done" });
        expect(await setup.due(other)).toHaveLength(2);
      },
    },
    {
      title: "a refused event is reported to the sender and in the result of the turn",
      async run(setup) {
        const [held, ended] = [await setup.hold("a"), await setup.hold("ended")];
        await setup.complete(ended);
        const items = [
          sendItem({ id: "missing" }),
          sendItem({ id: "ended" }),
          keepItem({ id: "soon", data: "kept" }),
        ];
        const result = await dispatch(setup, held, ...items);
        expect(replies(result.due)).toMatchObject([
          notSent(2, "INSTANCE_NOT_FOUND"),
          notSent(3, "INSTANCE_FINISHED"),
          sent(4),
        ]);
        expect(result.undelivered).toEqual([
          undelivered(2, "INSTANCE_NOT_FOUND"),
          undelivered(3, "INSTANCE_FINISHED"),
        ]);
        const { key } = await setup.start("soon");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "a quiet item has a reply only if it is refused",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const items = [sendItem({ id: "b" }), startItem({ id: "c" }), sendItem({ id: "missing" })];
        const dispatched = numbered(held, items).map((each) => ({ ...each, quiet: true }) as const);
        const result = await setup.turn(held, { events: items.map(() => eventText()), dispatched });
        expect(replies(result.due)).toMatchObject([notSent(4, "INSTANCE_NOT_FOUND")]);
        expect(result.undelivered).toEqual([undelivered(4, "INSTANCE_NOT_FOUND")]);
        expect(await setup.due(other)).toHaveLength(1);
      },
    },
    {
      title: "an accepted ask has no reply until it is answered",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const item = askItem({ id: "b", asker: askerOf(held) });
        const result = await dispatch(setup, held, item);
        expect(result).toEqual({ kind: "committed", due: [] });
        expect(await receive(setup, other)).toMatchObject([{ kind: "event", data: item.data }]);
        expect(await stateOf(setup, item)).toMatchObject({ state: "open" });
        await setup.complete(other);
        expect(replies(await setup.due(held))).toMatchObject([notAsked(2, "INSTANCE_FINISHED")]);
      },
    },
    {
      title: "a refused ask is answered with its failure",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const { requestId } = await asked(setup, other, { requestDigest: "one" });
        const result = await dispatch(
          setup,
          held,
          askItem({ id: "missing", asker: askerOf(held, 2) }),
          askItem({ id: "b", requestId, requestDigest: "two", asker: askerOf(held, 3) }),
        );
        expect(replies(result.due)).toMatchObject([
          notAsked(2, "INSTANCE_NOT_FOUND"),
          notAsked(3, "KEY_REUSED"),
        ]);
        expect(result.undelivered).toEqual([
          undelivered(2, "INSTANCE_NOT_FOUND"),
          undelivered(3, "KEY_REUSED"),
        ]);
      },
    },
    {
      title: "an ask can start its receiver",
      async run(setup) {
        const held = await setup.hold("a");
        const item = askItem({ id: "b", asker: askerOf(held), start: askStart("b") });
        expect((await dispatch(setup, held, item)).due).toEqual([]);
        const { messages } = await setup.leaseOnly("b", BETA);
        expect(messages.map(({ kind }) => kind)).toEqual(["start", "event"]);
      },
    },
    {
      title: "starts follow their conflict policy, and the sender gets a message for each",
      async run(setup) {
        const [held, taken] = [await setup.hold("a"), await setup.hold("taken")];
        const result = await dispatch(
          setup,
          held,
          startItem({ id: "new" }),
          startItem({ id: "taken" }),
          startItem({ id: "taken", onConflict: "useExisting" }),
          startItem({ id: "taken", onConflict: "restart" }),
        );
        expect(replies(result.due)).toMatchObject([
          sent(2),
          notSent(3, "INSTANCE_EXISTS"),
          sent(4, { existing: true }),
          notSent(5, "INSTANCE_RUNNING"),
        ]);
        expect(result.undelivered).toEqual([
          undelivered(3, "INSTANCE_EXISTS"),
          undelivered(5, "INSTANCE_RUNNING"),
        ]);
        expect(await setup.read("taken")).toMatchObject({ runId: taken.runId, execution: 1 });
        await setup.leaseOnly("new");
      },
    },
    {
      title: "a dispatched start can replace an instance, and one with a delay begins later",
      async run(setup) {
        const [held, old] = [await setup.hold("a"), await setup.hold("old")];
        const late = startItem({ id: "late", delayMs: 1_000 });
        const restart = startItem({ id: "old", onConflict: "terminateExisting" });
        expect(replies((await dispatch(setup, held, late, restart)).due)).toEqual([
          sent(2),
          sent(3),
        ]);
        expect(await setup.read("old")).toMatchObject({ runId: restart.runId, execution: 2 });
        expect(await setup.commit(turnItem(old, { events: [eventText()] }))).toEqual(LEASE_LOST);
        await setup.leaseOnly("old");
        await setup.environment.advance(1_000);
        const { instances } = await setup.lease();
        expect(instances.map(({ id }) => id)).toContain("late");
      },
    },
    {
      title: "a turn can take back a request of an earlier turn, without a reply",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const item = askItem({ id: "b", asker: askerOf(held) });
        await dispatch(setup, held, item);
        const result = await dispatch(setup, held, withdrawItem(item));
        expect(result).toEqual({ kind: "committed", due: [] });
        expect(await setup.provider.readInbox(other.key)).toEqual([]);
        expect(await stateOf(setup, item)).toBeUndefined();
      },
    },
    {
      title: "a request that is sent and withdrawn in one turn leaves nothing",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const item = askItem({ id: "b", asker: askerOf(held) });
        await dispatch(setup, held, item, withdrawItem(item));
        expect(await setup.provider.readInbox(other.key)).toEqual([]);
        expect(await stateOf(setup, item)).toBeUndefined();
      },
    },
    {
      title: "a turn that ends its instance dispatches its items and reports refused ones",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const items = [sendItem({ id: "b" }), sendItem({ id: "missing" }), startItem({ id: "c" })];
        const result = await setup.turn(held, {
          events: [eventText(), eventText(), eventText(), completedText()],
          change: { kind: "ended", status: "completed", output: "1", error: null },
          dispatched: numbered(held, items),
        });
        expect(result).toEqual({
          kind: "committed",
          due: [],
          undelivered: [undelivered(3, "INSTANCE_NOT_FOUND")],
        });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        expect(await setup.due(other)).toHaveLength(1);
        expect(await setup.read("c")).toMatchObject({ status: "pending" });
      },
    },
    {
      title: "a turn that continues as new dispatches its items, and no reply reaches the next one",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const items = [sendItem({ id: "b" }), askItem({ id: "missing", asker: askerOf(held, 3) })];
        const { due, undelivered: left } = await continueAsNew(setup, held, {
          events: [eventText(), eventText()],
          dispatched: numbered(held, items),
        });
        expect(due.map(({ kind }) => kind)).toEqual(["start"]);
        expect(left).toEqual([undelivered(3, "INSTANCE_NOT_FOUND")]);
        expect(await setup.inboxKinds(held.key)).toEqual(["start"]);
        expect(await setup.due(other)).toHaveLength(1);
      },
    },
    {
      title: "an instance can send an event and a request to itself",
      async run(setup) {
        const held = await setup.hold("a");
        const item = askItem({ id: "a", asker: askerOf(held, 3) });
        const { due } = await dispatch(setup, held, sendItem({ id: "a", data: "own" }), item);
        expect(due.map(({ kind, data }) => (kind === "event" ? data : kind)).toSorted()).toEqual(
          ["own", "sent", item.data].toSorted(),
        );
        const answers = [{ requestId: item.requestId, answer: ANSWER }];
        const consumed = due.map(({ id }) => id);
        await setup.turn(held, { events: [eventText()], consumed, answers });
        expect(await stateOf(setup, item)).toMatchObject({ state: "answered" });
      },
    },
    {
      title: "an event to an instance that ends or continues in the same turn",
      async run(setup) {
        const held = await setup.hold("a");
        const again = await continueAsNew(setup, held, {
          dispatched: [{ sequence: 2, item: sendItem({ id: "a", data: "own" }) }],
        });
        expect(again.due.map(({ kind }) => kind)).toEqual(["start", "event"]);
        const result = await setup.turn(held, {
          events: [completedText()],
          change: { kind: "ended", status: "completed", output: "1", error: null },
          dispatched: [{ sequence: 1, item: sendItem({ id: "a" }) }],
        });
        expect(result.undelivered).toEqual([undelivered(1, "INSTANCE_FINISHED")]);
      },
    },
    {
      title: "an instance that replaces itself loses its lease and gets no reply",
      async run(setup) {
        const held = await setup.hold("a");
        const restart = startItem({ id: "a", onConflict: "terminateExisting" });
        const { due } = await dispatch(setup, held, restart);
        expect(due).toEqual([]);
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toEqual(LEASE_LOST);
        const { messages, execution } = await setup.leaseOnly("a");
        expect(execution).toBe(2);
        expect(messages.map(({ kind }) => kind)).toEqual(["start"]);
      },
    },
    {
      title: "a refused turn dispatches nothing",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const dispatched = numbered(held, [sendItem({ id: "b" }), startItem({ id: "c" })]);
        const stale = turnItem({ ...held, token: fresh() }, { events: [eventText()], dispatched });
        expect(await setup.commit(stale)).toEqual(LEASE_LOST);
        expect(await setup.provider.readInbox(other.key)).toEqual([]);
        expect(await setup.provider.readInstance("c")).toBeNull();
      },
    },
    {
      title: "a reply makes an instance due that the turn released",
      async run(setup) {
        const [held] = [await setup.hold("a"), await setup.hold("b")];
        const dispatched = numbered(held, [sendItem({ id: "b" })]);
        const { due } = await setup.turn(held, {
          events: [eventText()],
          dispatched,
          release: true,
        });
        expect(due).toEqual([]);
        const { messages } = await setup.leaseOnly("a");
        expect(replies(messages)).toEqual([sent(2)]);
      },
    },
    {
      title: "turns of one group can dispatch items to each other",
      async run(setup) {
        const [a, b] = [await setup.hold("a"), await setup.hold("b")];
        const toB = numbered(a, [sendItem({ id: "b", data: "to b" })]);
        const toA = numbered(b, [
          sendItem({ id: "a", data: "to a" }),
          sendItem({ id: "missing", data: "lost" }),
        ]);
        const results = await setup.provider.commit([
          turnItem(a, { events: [eventText()], dispatched: toB }),
          turnItem(b, { events: [eventText(), eventText()], dispatched: toA }),
          sendItem({ id: "a", data: "outside" }),
        ]);
        expect(results).toMatchObject([
          { kind: "committed" },
          { kind: "committed", undelivered: [undelivered(3, "INSTANCE_NOT_FOUND")] },
          { kind: "done" },
        ]);
        expect(results[0]).not.toHaveProperty("undelivered");
        const eventsOf = async (held: Held) =>
          (await setup.due(held)).filter(({ kind }) => kind === "event").map(({ data }) => data);
        expect((await eventsOf(a)).toSorted()).toEqual(["outside", "to a"]);
        expect(await eventsOf(b)).toEqual(["to b"]);
      },
    },
    {
      title: "a first turn can dispatch items (commit.5)",
      async run(setup) {
        const other = await setup.hold("b");
        const token = fresh();
        const start = startItem({ id: "a", lease: { owner: ALPHA, token } });
        const { id, runId } = start;
        const held: Held = { id, runId, key: 0, execution: 1, token, lastEvent: 0 };
        const events = [start.started, eventText(), eventText()];
        const dispatched = [
          { sequence: 2, item: sendItem({ id: "b" }) },
          { sequence: 3, item: sendItem({ id: "missing" }) },
        ];
        const firstTurn = turnItem(held, { events, dispatched, version: "1.0.0" });
        const result = await setup.commit({ ...start, firstTurn });
        expect(result).toMatchObject({ kind: "started", execution: 1 });
        if (result.kind !== "started" || result.due === undefined) return; // the store ignored the turn
        expect(replies(result.due)).toMatchObject([sent(2), notSent(3, "INSTANCE_NOT_FOUND")]);
        expect(await setup.due(other)).toHaveLength(1);
      },
    },
    {
      title: "a request id that was used before is refused or repeated, as for a client",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const item = sendItem({ id: "b", requestId: "r", requestDigest: "one" });
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        const reused = { ...item, requestDigest: "two" };
        const { due } = await dispatch(setup, held, item, reused);
        expect(replies(due)).toMatchObject([sent(2), notSent(3, "KEY_REUSED")]);
        expect(await setup.commit(reused)).toEqual(refused("KEY_REUSED"));
        expect(await setup.due(other)).toHaveLength(1);
      },
    },
  ],
};
