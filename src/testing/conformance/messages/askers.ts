// Contract of askers: an instance that waits for an answer gets one message, whatever becomes of its request
// (provider.asks.3). Its request can be withdrawn.

import { expect } from "vitest";
import type { AskItem, OutgoingMessage } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  askerOf,
  askItem,
  askStart,
  cancelItem,
  eventText,
  failedText,
  type Held,
  outgoing,
  sendItem,
  terminateItem,
  withdrawItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";
import { answer, ANSWER, asked, receive, stateOf } from "./asks.ts";

const DONE = { kind: "done" };

/** An asker that has a request open at "a", and the receiver of the request. */
async function waiting(setup: Setup): Promise<{ asker: Held; held: Held; item: AskItem }> {
  const asker = await setup.hold("asker");
  await setup.turn(asker, { events: [eventText()] });
  const held = await setup.hold("a");
  const item = await asked(setup, held, { asker: askerOf(asker) });
  return { asker, held, item };
}

/** Expects that the asker gets exactly one message: that "a" has ended. */
async function expectUnanswered(setup: Setup, asker: Held): Promise<void> {
  const due = await setup.due(asker);
  expect(due).toMatchObject([{ kind: "answer", execution: 1, sequence: 2, key: "a:1:2" }]);
  const body: unknown = JSON.parse(due[0]?.data ?? "null");
  const failure = { code: "INSTANCE_FINISHED", retryable: false };
  expect(body).toMatchObject({ kind: "AskFailed", scheduled: 2, failure });
}

/** The message of an answer to the asker, as the answering turn sends it. */
function answerTo(asker: Held, fields: Partial<OutgoingMessage> = {}): OutgoingMessage {
  const { id, runId, execution, sequence } = askerOf(asker);
  const data = JSON.stringify({ kind: "AskCompleted", scheduled: sequence, output: "42" });
  const key = `a:${execution}:${sequence}`;
  const { name: _, ...message } = outgoing({ id, runId }, { kind: "answer", data, key });
  return { ...message, execution, sequence, ...fields };
}

export const askers: ContractSubject = {
  subject: "askers",
  cases: [
    {
      title: "the answer reaches the execution that asked, once",
      async run(setup) {
        const { asker, held, item } = await waiting(setup);
        await receive(setup, held);
        const answers = [{ requestId: item.requestId, answer: ANSWER }];
        const message = answerTo(asker);
        await setup.turn(held, { events: [eventText()], answers, sends: [message, message] });
        const { data, key, sequence } = message;
        expect(await setup.due(asker)).toMatchObject([{ kind: "answer", data, key, sequence }]);
        await setup.complete(held);
        expect(await setup.due(asker)).toHaveLength(1);
      },
    },
    {
      title: "the answer to another execution or another run is dropped",
      async run(setup) {
        const { asker, held } = await waiting(setup);
        const other = { id: "asker", runId: "another" };
        const sends = [answerTo(asker, { execution: 2 }), answerTo(asker, { to: other })];
        await setup.turn(held, { events: [eventText()], sends });
        expect(await setup.provider.readInbox(asker.key)).toEqual([]);
      },
    },
    {
      title: "an asker is notified when the instance ends by a turn",
      async run(setup) {
        const { asker, held, item } = await waiting(setup);
        await receive(setup, held);
        await setup.complete(held);
        await expectUnanswered(setup, asker);
        expect(await stateOf(setup, item)).toMatchObject({ state: "finished" });
      },
    },
    {
      title: "an asker is notified although no turn has received its request",
      async run(setup) {
        const { asker, held } = await waiting(setup);
        await setup.complete(held);
        await expectUnanswered(setup, asker);
      },
    },
    {
      title: "an asker is notified when the instance is terminated or cancelled without a turn",
      async run(setup) {
        const { asker } = await waiting(setup);
        await setup.commit(terminateItem("a"));
        await expectUnanswered(setup, asker);
        await receive(setup, asker);
        const later = askItem({
          id: "later",
          start: askStart("later", { delayMs: 1_000 }),
          asker: askerOf(asker),
        });
        expect(await setup.commit(later)).toMatchObject({ kind: "asked" });
        await setup.commit(cancelItem("later"));
        await expectUnanswered(setup, asker);
      },
    },
    {
      title: "an asker is notified when another start replaces the instance",
      async run(setup) {
        const { asker } = await waiting(setup);
        const again = await setup.hold("a", { onConflict: "terminateExisting" });
        await expectUnanswered(setup, asker);
        await setup.complete(again);
        expect(await setup.due(asker)).toHaveLength(1);
      },
    },
    {
      title: "an asker is notified when the instance is deleted by force, and not again",
      async run(setup) {
        const { asker } = await waiting(setup);
        expect(await setup.provider.deleteInstance({ id: "a", force: true })).toMatchObject({
          kind: "deleted",
        });
        await expectUnanswered(setup, asker);
      },
    },
    {
      title: "an asker is notified when the instance is deleted with its parent",
      async run(setup) {
        const asker = await setup.hold("asker");
        const parent = await setup.hold("parent");
        await setup.startChild(parent, "a");
        const item = askItem({ id: "a", asker: askerOf(asker) });
        expect(await setup.commit(item)).toMatchObject({ kind: "asked" });
        await setup.provider.deleteInstance({ id: "parent", force: true });
        await expectUnanswered(setup, asker);
      },
    },
    {
      title: "every waiting asker is notified, but no client and no asker that was answered",
      async run(setup) {
        const { asker, held } = await waiting(setup);
        const second = await setup.hold("second");
        const third = await setup.hold("third");
        await asked(setup, held, { asker: askerOf(second) });
        await asked(setup, held);
        const answered = await asked(setup, held, { asker: askerOf(third) });
        await receive(setup, held);
        await answer(setup, held, answered);
        await setup.commit(terminateItem("a"));
        await expectUnanswered(setup, asker);
        await expectUnanswered(setup, second);
        expect(await setup.provider.readInbox(third.key)).toEqual([]);
      },
    },
    {
      title: "a turn that answers and ends its instance sends no failure",
      async run(setup) {
        const { asker, held, item } = await waiting(setup);
        await receive(setup, held);
        const answers = [{ requestId: item.requestId, answer: ANSWER }];
        await setup.complete(held, "1", { answers });
        expect(await setup.provider.readInbox(asker.key)).toEqual([]);
        expect(await stateOf(setup, item)).toMatchObject({ state: "answered" });
      },
    },
    {
      title: "an asker that has ended, or was restarted, gets nothing",
      async run(setup) {
        const { asker, held } = await waiting(setup);
        await setup.complete(asker);
        const again = await setup.hold("asker", { onConflict: "restart" });
        await setup.complete(held);
        expect(await setup.provider.readInbox(again.key)).toEqual([]);
      },
    },
    {
      title: "an instance that asks itself can end",
      async run(setup) {
        const held = await setup.hold("a");
        await asked(setup, held, { asker: askerOf(held) });
        await setup.complete(held);
        expect(await setup.inboxKinds(held.key)).toEqual(["event"]);
        expect(await setup.provider.deleteInstance({ id: "a", force: true })).toMatchObject({
          kind: "deleted",
          instances: 1,
        });
      },
    },
    {
      title: "a blocked instance that is cancelled notifies its askers",
      async run(setup) {
        const { asker, held } = await waiting(setup);
        const { key, token } = held;
        await setup.commit({ kind: "block", key, token, reason: "{}", by: "runtime-alpha" });
        const cancel = { ...cancelItem("a"), cancelled: failedText("cancelled", "blocked") };
        await setup.commit(cancel);
        await expectUnanswered(setup, asker);
      },
    },
    {
      title: "a request that no turn has received is withdrawn with its request id",
      async run(setup) {
        const { asker, held, item } = await waiting(setup);
        expect(await setup.provider.settle(withdrawItem(item))).toBeNull();
        expect(await setup.commit(withdrawItem(item))).toEqual(DONE);
        expect(await setup.commit(withdrawItem(item))).toEqual(DONE);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        expect(await stateOf(setup, item)).toBeUndefined();
        expect(await setup.provider.settle(item)).toBeNull();
        await asked(setup, held, { requestId: item.requestId });
        await setup.complete(held);
        expect(await setup.provider.readInbox(asker.key)).toEqual([]);
      },
    },
    {
      title: "after a turn has received a request, a withdrawal only stops its asker from waiting",
      async run(setup) {
        const { asker, held, item } = await waiting(setup);
        await receive(setup, held);
        expect(await setup.commit(withdrawItem(item))).toEqual(DONE);
        expect(await stateOf(setup, item)).toMatchObject({ state: "open" });
        await answer(setup, held, item);
        expect(await stateOf(setup, item)).toMatchObject({ state: "answered", answer: ANSWER });
        await setup.complete(held);
        expect(await setup.provider.readInbox(asker.key)).toEqual([]);
      },
    },
    {
      title: "after the oldest request was withdrawn, the next event makes the instance due",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        const item = await asked(setup, held);
        await setup.commit(sendItem({ id: "a", data: "1", requestId: item.requestId }));
        await setup.commit(sendItem({ id: "a", data: "2" }));
        await setup.commit(withdrawItem(item));
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ data }) => data)).toEqual(["1", "2"]);
      },
    },
    {
      title: "a withdrawal of a later request leaves the oldest event ready",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        await setup.commit(sendItem({ id: "a", data: "1" }));
        const item = await asked(setup, held);
        await setup.commit(withdrawItem(item));
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ data }) => data)).toEqual(["1"]);
      },
    },
    {
      title: "a withdrawal does not make an instance due that takes no events, or that has ended",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        await setup.commit(sendItem({ id: "a", data: "1" }));
        await setup.turn(held, { waitingEvents: "park", release: true });
        await setup.commit(withdrawItem(item));
        await setup.leaseNothing();
        const other = await setup.hold("b");
        const late = await asked(setup, other);
        await setup.commit(sendItem({ id: "b" }));
        await setup.complete(other);
        expect(await setup.commit(withdrawItem(late))).toEqual(DONE);
        await setup.leaseNothing();
        expect(await setup.inboxKinds(other.key)).toEqual(["event"]);
      },
    },
    {
      title: "a withdrawal of an unknown request, or from a missing instance, changes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        expect(await setup.commit(withdrawItem({ ...item, requestId: "unknown" }))).toEqual(DONE);
        expect(await setup.commit(withdrawItem({ ...item, id: "missing" }))).toEqual(DONE);
        expect(await setup.due(held)).toHaveLength(1);
        expect(await stateOf(setup, item)).toMatchObject({ state: "open" });
      },
    },
  ],
};
