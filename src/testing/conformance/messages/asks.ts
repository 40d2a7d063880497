// Contract of asks: a request reaches an instance once, and its answer is stored with the request id
// (provider.asks.1, provider.asks.2).

import { expect } from "vitest";
import { requestMessageKey } from "../../../core/ids/request-messages.ts";
import type { AskItem, AskRecord, Message, News } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  askerOf,
  askItem,
  askStart,
  eventText,
  type Held,
  keepItem,
  refused,
  sendItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

export const ANSWER = '{"output":"42"}';
const REUSED = refused("KEY_REUSED");
const FINISHED = refused("INSTANCE_FINISHED");
const EXISTS = refused("INSTANCE_EXISTS");

/** Sends a request to a leased instance. */
export async function asked(
  setup: Setup,
  held: Held,
  fields: Partial<AskItem> = {},
): Promise<AskItem> {
  const item = askItem({ ...fields, id: held.id });
  const { key, execution } = held;
  expect(await setup.commit(item)).toEqual({ kind: "asked", key, execution, answer: null });
  return item;
}

/** Commits a turn that receives all due messages, and returns them. */
export async function receive(setup: Setup, held: Held): Promise<readonly Message[]> {
  const messages = await setup.due(held);
  await setup.turn(held, { events: [eventText()], consumed: messages.map(({ id }) => id) });
  return messages;
}

/** Commits a turn that answers a request. */
export async function answer(setup: Setup, held: Held, { requestId }: AskItem): Promise<void> {
  const answers = [{ requestId, answer: ANSWER }];
  await setup.turn(held, { events: [eventText()], answers });
}

/** What the store knows of an ask; undefined: nothing. */
export async function stateOf(
  setup: Setup,
  { id, requestId }: AskItem,
): Promise<AskRecord | undefined> {
  return (await setup.provider.readAsks(id, [requestId]))?.asks[0];
}

export const asks: ContractSubject = {
  subject: "asks",
  cases: [
    {
      title: "a request waits in the inbox as an event with a reserved key (provider.asks.1)",
      async run(setup) {
        const held = await setup.hold("a");
        const { name, data, requestId } = await asked(setup, held);
        const message = { kind: "event", execution: null, sequence: null, name, data };
        expect(await setup.due(held)).toMatchObject([
          { ...message, key: requestMessageKey(requestId) },
        ]);
      },
    },
    {
      title: "a request makes its instance due, and events keep their order around it",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        await setup.commit(sendItem({ id: "a", data: "1" }));
        await asked(setup, held, { data: '{"input":"2"}' });
        await setup.commit(sendItem({ id: "a", data: "3" }));
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ data }) => data)).toEqual(["1", '{"input":"2"}', "3"]);
      },
    },
    {
      title: "an ask is open until a turn answers it, and then has the answer",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        const { requestId } = item;
        expect(await stateOf(setup, item)).toEqual({ requestId, state: "open", answer: null });
        await receive(setup, held);
        expect(await stateOf(setup, item)).toMatchObject({ state: "open" });
        await answer(setup, held, item);
        expect(await stateOf(setup, item)).toEqual({
          requestId,
          state: "answered",
          answer: ANSWER,
        });
      },
    },
    {
      title: "listeners are notified of an instance that has answered",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        await receive(setup, held);
        const heard: News[] = [];
        const unsubscribe = setup.provider.subscribe((news) => heard.push(news));
        await answer(setup, held, item);
        await setup.environment.settle();
        unsubscribe();
        expect(heard.flatMap(({ changed }) => changed)).toContain("a");
      },
    },
    {
      title: "a repeated ask sends nothing and returns the answer once there is one",
      async run(setup) {
        const held = await setup.hold("a");
        const item = askItem({ id: "a" });
        const { key } = held;
        const open = { kind: "asked", key, execution: 1, answer: null };
        expect(await setup.provider.commit([item, item])).toEqual([open, open]);
        expect(await setup.commit(item)).toEqual(open);
        expect(await receive(setup, held)).toHaveLength(1);
        expect(await setup.commit(item)).toEqual(open);
        await answer(setup, held, item);
        expect(await setup.commit(item)).toEqual({ ...open, answer: ANSWER });
        expect(await setup.provider.readInbox(key)).toEqual([]);
      },
    },
    {
      title: "an ask with a used request id and a different digest is refused",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held, { requestDigest: "one" });
        const other = { ...item, requestDigest: "two" };
        expect(await setup.commit(other)).toEqual(REUSED);
        expect(await setup.provider.settle(other)).toEqual(REUSED);
        await receive(setup, held);
        await answer(setup, held, item);
        expect(await setup.commit(other)).toEqual(REUSED);
        const { requestDigest: _digest, ...plain } = item;
        expect(await setup.commit(plain)).toMatchObject({ answer: ANSWER });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "an ask, an event and a start can have the same request id",
      async run(setup) {
        const held = await setup.hold("a", { requestId: "same" });
        const item = await asked(setup, held, { requestId: "same", requestDigest: "one" });
        const send = sendItem({ id: "a", requestId: "same", requestDigest: "two" });
        expect(await setup.commit(send)).toEqual({ kind: "done" });
        expect(await setup.commit(send)).toEqual({ kind: "done" });
        const [request, event] = await receive(setup, held);
        expect(request?.key).not.toBe(event?.key);
        await answer(setup, held, item);
        expect(await setup.commit(send)).toEqual({ kind: "done" });
        expect(await setup.commit(item)).toMatchObject({ answer: ANSWER });
      },
    },
    {
      title: "an ask of a missing or ended instance is refused and leaves no trace",
      async run(setup) {
        const item = askItem({ id: "a" });
        expect(await setup.commit(item)).toEqual(refused("INSTANCE_NOT_FOUND"));
        expect(await setup.provider.readAsks("a", [item.requestId])).toBeNull();
        const held = await setup.hold("a");
        await setup.complete(held);
        expect(await setup.commit(item)).toEqual(FINISHED);
        expect(await setup.provider.settle(item)).toBeNull();
        expect(await setup.provider.readAsks("a", [item.requestId])).toEqual({
          key: held.key,
          asks: [],
        });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "an ask that was answered before its instance ended still returns the answer",
      async run(setup) {
        const held = await setup.hold("a");
        const [early, late, never] = [
          await asked(setup, held),
          await asked(setup, held),
          await asked(setup, held),
        ];
        await receive(setup, held);
        await answer(setup, held, early);
        await setup.complete(held, "1", { answers: [{ ...late, answer: ANSWER }] });
        for (const item of [early, late]) {
          expect(await setup.commit(item)).toMatchObject({ kind: "asked", answer: ANSWER });
          expect(await setup.provider.settle(item)).toMatchObject({ answer: ANSWER });
          expect(await stateOf(setup, item)).toMatchObject({ state: "answered" });
        }
        expect(await setup.commit(never)).toEqual(FINISHED);
        expect(await setup.provider.settle(never)).toEqual(FINISHED);
        expect(await stateOf(setup, never)).toMatchObject({ state: "finished", answer: null });
      },
    },
    {
      title: "an ask with a start starts a missing instance, and its request follows the start",
      async run(setup) {
        await setup.commit(keepItem({ id: "a", data: "early" }));
        const item = askItem({ id: "a", start: askStart("a") });
        const result = await setup.commit(item);
        expect(result).toMatchObject({ kind: "asked", execution: 1, answer: null });
        expect(await setup.commit(item)).toEqual(result);
        expect(await setup.provider.settle(item)).toEqual(result);
        const { messages, runId } = await setup.leaseOnly("a");
        expect(runId).toBe(item.start?.runId);
        expect(messages.map(({ kind }) => kind)).toEqual(["start", "event", "event"]);
        expect(messages.slice(1).map(({ data }) => data)).toEqual(["early", item.data]);
      },
    },
    {
      title: "the request of an ask with a delayed start becomes visible with the start",
      async run(setup) {
        const start = askStart("a", { delayMs: 1_000 });
        expect(await setup.commit(askItem({ id: "a", start }))).toMatchObject({ kind: "asked" });
        await setup.environment.advance(999);
        await setup.leaseNothing();
        await setup.environment.advance(1);
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ kind }) => kind)).toEqual(["start", "event"]);
      },
    },
    {
      title: "an ask with a start uses an instance that exists, and is refused after its end",
      async run(setup) {
        const held = await setup.hold("a");
        const start = askStart("a");
        await asked(setup, held, { start });
        await asked(setup, held, { start: askStart("a", { onConflict: "restart" }) });
        expect(await setup.read("a")).toMatchObject({ runId: held.runId, execution: 1 });
        await setup.complete(held);
        expect(await setup.commit(askItem({ id: "a", start }))).toEqual(FINISHED);
        expect(await setup.read("a")).toMatchObject({ status: "completed" });
      },
    },
    {
      title: "an ask restarts an ended instance if its start says so",
      async run(setup) {
        const held = await setup.hold("a");
        const before = await asked(setup, held);
        await setup.complete(held);
        const start = askStart("a", { onConflict: "restart" });
        const item = askItem({ id: "a", start });
        const { key } = held;
        expect(await setup.commit(item)).toEqual({
          kind: "asked",
          key,
          execution: 2,
          answer: null,
        });
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ kind, data }) => [kind, data])).toEqual([
          ["start", start.started],
          ["event", item.data],
        ]);
        expect(await stateOf(setup, item)).toMatchObject({ state: "open" });
        expect(await stateOf(setup, before)).toMatchObject({ state: "finished" });
        expect(await setup.commit(before)).toEqual(FINISHED);
      },
    },
    {
      title: "an ask whose start names another orchestration is refused (provider.asks.5)",
      async run(setup) {
        const [held, asker] = [await setup.hold("a"), await setup.hold("asker")];
        for (const onConflict of ["useExisting", "restart"] as const) {
          const start = { ...askStart("a", { onConflict }), name: "another" };
          const item = askItem({ id: "a", start });
          expect(await setup.commit(item)).toEqual(EXISTS);
          expect(await stateOf(setup, item)).toBeUndefined();
        }
        expect(await setup.due(held)).toEqual([]);
        await setup.complete(held);
        const start = { ...askStart("a", { onConflict: "restart" }), name: "another" };
        expect(await setup.commit(askItem({ id: "a", start }))).toEqual(EXISTS);
        const sequence = asker.lastEvent + 1;
        const item = askItem({ id: "a", asker: askerOf(asker, sequence), start });
        const turn = { events: [eventText()], dispatched: [{ sequence, item }] };
        const { due, undelivered } = await setup.turn(asker, turn);
        expect(undelivered).toEqual([{ sequence, code: "INSTANCE_EXISTS" }]);
        expect(due.map(({ data }): unknown => JSON.parse(data))).toMatchObject([
          { kind: "AskFailed", scheduled: sequence, failure: { code: "INSTANCE_EXISTS" } },
        ]);
        expect(await setup.read("a")).toMatchObject({ status: "completed", execution: 1 });
      },
    },
    {
      title: "an ask that was written is repeated, whatever orchestration its start names",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        const start = { ...askStart("a"), name: "another" };
        expect(await setup.commit({ ...item, start })).toMatchObject({ kind: "asked" });
      },
    },
    {
      title: "a repeated ask starts nothing, even if its start would restart the instance",
      async run(setup) {
        const held = await setup.hold("a");
        const start = askStart("a", { onConflict: "restart" });
        const [item, open] = [await asked(setup, held, { start }), await asked(setup, held)];
        await receive(setup, held);
        await setup.complete(held, "1", { answers: [{ ...item, answer: ANSWER }] });
        expect(await setup.commit(item)).toMatchObject({ kind: "asked", answer: ANSWER });
        expect(await setup.commit({ ...open, start })).toEqual(FINISHED);
        expect(await setup.read("a")).toMatchObject({ status: "completed", execution: 1 });
      },
    },
    {
      title: "a restart makes unanswered asks finished for good and keeps answers",
      async run(setup) {
        const held = await setup.hold("a");
        const [answered, open] = [await asked(setup, held), await asked(setup, held)];
        await receive(setup, held);
        await answer(setup, held, answered);
        await setup.hold("a", { onConflict: "terminateExisting" });
        expect(await stateOf(setup, answered)).toMatchObject({ state: "answered", answer: ANSWER });
        expect(await stateOf(setup, open)).toMatchObject({ state: "finished", answer: null });
        expect(await setup.commit(open)).toEqual(FINISHED);
      },
    },
    {
      title: "an ask whose commit threw an error can be settled (I14)",
      async run(setup) {
        const item = askItem({ id: "a", start: askStart("a") });
        expect(await setup.provider.settle(item)).toBeNull();
        const held = await setup.hold("a");
        expect(await setup.provider.settle(item)).toBeNull();
        const result = await setup.commit(item);
        expect(await setup.provider.settle(item)).toEqual(result);
        await receive(setup, held);
        await answer(setup, held, item);
        expect(await setup.provider.settle(item)).toEqual({ ...result, answer: ANSWER });
      },
    },
  ],
};
