// Contract of callbacks: a value from outside reaches the execution that waits for it, once (provider.callbacks.1,
// provider.callbacks.2).

import { expect } from "vitest";
import { callbackMessageName, callbackRequestId } from "../../../core/ids/callback-messages.ts";
import type { CallbackItem } from "../../../core/provider/callbacks.ts";
import type { ContractSubject } from "../contract-case.ts";
import { eventText, refused, startItem, terminateItem, turnItem, type Held } from "../fixture.ts";

const CLOSED = refused("CALLBACK_CLOSED");
const DONE = { kind: "done" } as const;

function callbackItem(
  { id, runId, execution }: Pick<Held, "id" | "runId" | "execution">,
  fields: Partial<CallbackItem> = {},
): CallbackItem {
  const data = '{"value":"1"}';
  return { kind: "callback", id, runId, execution, sequence: 2, data, expiresAt: 0, ...fields };
}

function changeOf(held: Held, state: "closed" | "open") {
  return [{ requestId: callbackRequestId({ ...held, sequence: 2 }), state }];
}

export const callbacks: ContractSubject = {
  subject: "callbacks",
  cases: [
    {
      title: "a value waits in the inbox under the reserved name; a repetition changes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        const item = callbackItem(held, { data: '{"value":"7"}' });
        expect(await setup.commit(item)).toEqual(DONE);
        expect(await setup.commit({ ...item, data: '{"value":"8"}' })).toEqual(DONE);
        expect(await setup.due(held)).toMatchObject([
          {
            kind: "event",
            name: callbackMessageName(2),
            data: '{"value":"7"}',
            key: callbackRequestId({ ...held, sequence: 2 }),
          },
        ]);
      },
    },
    {
      title: "the value of a callback makes its instance due",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        await setup.commit(callbackItem(held));
        const [leased] = (await setup.lease()).instances;
        expect(leased).toMatchObject({ id: "a", messages: [{ kind: "event" }] });
      },
    },
    {
      title: "a callback of another run, of another execution or of no instance is closed",
      async run(setup) {
        const held = await setup.hold("a");
        expect(await setup.commit(callbackItem(held, { runId: "another" }))).toEqual(CLOSED);
        expect(await setup.commit(callbackItem(held, { execution: 2 }))).toEqual(CLOSED);
        expect(await setup.commit(callbackItem(held, { id: "missing" }))).toEqual(CLOSED);
        expect(await setup.due(held)).toEqual([]);
      },
    },
    {
      title: "a turn that no longer waits closes the callback",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { callbacks: changeOf(held, "closed") });
        expect(await setup.commit(callbackItem(held))).toEqual(CLOSED);
        expect(await setup.commit(callbackItem(held, { sequence: 3 }))).toEqual(DONE);
      },
    },
    {
      title: "a callback that was completed before it was closed stays completed",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(callbackItem(held));
        await setup.turn(held, { callbacks: changeOf(held, "closed") });
        expect(await setup.commit(callbackItem(held))).toEqual(DONE);
        expect(await setup.due(held)).toHaveLength(1);
      },
    },
    {
      title: "a turn that refuses the value opens the callback again for one more value",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(callbackItem(held));
        const [message] = await setup.due(held);
        const consumed = message === undefined ? [] : [message.id];
        await setup.turn(held, { consumed, callbacks: changeOf(held, "open") });
        expect(await setup.commit(callbackItem(held, { data: '{"value":"2"}' }))).toEqual(DONE);
        expect(await setup.commit(callbackItem(held, { data: '{"value":"3"}' }))).toEqual(DONE);
        expect(await setup.due(held)).toMatchObject([{ data: '{"value":"2"}' }]);
      },
    },
    {
      title: "a turn that refuses the value and no longer waits leaves the callback closed",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(callbackItem(held));
        const callbacks = [...changeOf(held, "open"), ...changeOf(held, "closed")];
        await setup.turn(held, { callbacks });
        expect(await setup.commit(callbackItem(held))).toEqual(CLOSED);
      },
    },
    {
      title: "opening a callback that is closed changes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { callbacks: changeOf(held, "closed") });
        await setup.turn(held, { callbacks: changeOf(held, "open") });
        expect(await setup.commit(callbackItem(held))).toEqual(CLOSED);
      },
    },
    {
      title:
        "after the end of the instance a completed callback is done, every other one is closed",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(callbackItem(held));
        await setup.complete(held);
        expect(await setup.commit(callbackItem(held))).toEqual(DONE);
        expect(await setup.commit(callbackItem(held, { sequence: 3 }))).toEqual(CLOSED);
      },
    },
    {
      title: "a terminated and restarted instance accepts only callbacks of its new execution",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(callbackItem(held));
        await setup.commit(terminateItem("a"));
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        const { runId } = await setup.read("a");
        expect(await setup.commit(callbackItem(held))).toEqual(DONE); // a repetition
        expect(await setup.commit(callbackItem(held, { sequence: 3 }))).toEqual(CLOSED);
        const next = { id: "a", runId, execution: 2 };
        expect(await setup.commit(callbackItem(next))).toEqual(DONE);
      },
    },
    {
      title: "an instance that was deleted and started again does not know the old callbacks",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(callbackItem(held));
        await setup.complete(held);
        await setup.provider.deleteInstance({ id: "a", force: false });
        expect(await setup.commit(callbackItem(held))).toEqual(CLOSED);
        await setup.commit(startItem({ id: "a", runId: "the next run" }));
        expect(await setup.commit(callbackItem(held))).toEqual(CLOSED);
      },
    },
    {
      title: "a callback is closed when its time is over by the store's clock",
      async run(setup) {
        const held = await setup.hold("a");
        const expiresAt = setup.provider.now() + 1_000;
        await setup.commit(callbackItem(held, { sequence: 3, expiresAt }));
        await setup.environment.advance(999);
        expect(await setup.commit(callbackItem(held, { sequence: 4, expiresAt }))).toEqual(DONE);
        await setup.environment.advance(1);
        expect(await setup.commit(callbackItem(held, { expiresAt }))).toEqual(CLOSED);
        expect(await setup.commit(callbackItem(held, { sequence: 3, expiresAt }))).toEqual(DONE);
      },
    },
    {
      title: "continuing as new closes the callbacks of the execution",
      async run(setup) {
        const held = await setup.hold("a");
        const started = eventText();
        const change = { kind: "continued", started, version: null, unread: [] } as const;
        const item = callbackItem(held);
        await setup.turn(held, { change });
        expect(await setup.commit(item)).toEqual(CLOSED);
      },
    },
    {
      title: "a callback and a turn of one group apply in their order",
      async run(setup) {
        const held = await setup.hold("a");
        const close = turnItem(held, { callbacks: changeOf(held, "closed") });
        const late = callbackItem(held);
        expect(await setup.provider.commit([close, late])).toMatchObject([
          { kind: "committed" },
          CLOSED,
        ]);
        const other = await setup.hold("b");
        const early = callbackItem(other);
        const closeOther = turnItem(other, { callbacks: changeOf(other, "closed") });
        const [first] = await setup.provider.commit([early, closeOther]);
        expect(first).toEqual(DONE);
        expect(await setup.commit(early)).toEqual(DONE);
      },
    },
    {
      title: "settle finds a callback that was written, and no other",
      async run(setup) {
        const held = await setup.hold("a");
        expect(await setup.provider.settle(callbackItem(held))).toBeNull();
        await setup.commit(callbackItem(held));
        expect(await setup.provider.settle(callbackItem(held))).toEqual(DONE);
      },
    },
    {
      title: "a store has an id, which stays the same",
      async run(setup) {
        const id = await setup.provider.storeId();
        expect(id).toMatch(/^[0-9a-f]{32}$/);
        expect(await setup.provider.storeId()).toBe(id);
      },
    },
  ],
};
