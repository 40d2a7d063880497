// Contract of the inbox order: due messages come in order, and events of one name in the order of sending
// (messages.2, P7).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import {
  BETA,
  cancelItem,
  eventText,
  heldFrom,
  outgoing,
  sendItem,
  startedText,
} from "../fixture.ts";

export const inboxOrder: ContractSubject = {
  subject: "inbox order",
  cases: [
    {
      title: "events are delivered in the order of sending (P7)",
      async run(setup) {
        const held = await setup.hold("a");
        const sent = Array.from({ length: 30 }, (_, i) => `${i}`);
        for (const data of sent) await setup.commit(sendItem({ id: "a", data }));
        expect((await setup.due(held)).map((message) => message.data)).toEqual(sent);
      },
    },
    {
      title: "events of one group are delivered in the order of the group",
      async run(setup) {
        const held = await setup.hold("a");
        const sent = Array.from({ length: 30 }, (_, i) => `${i}`);
        await setup.provider.commit(sent.map((data) => sendItem({ id: "a", data })));
        expect((await setup.due(held)).map((message) => message.data)).toEqual(sent);
      },
    },
    {
      title:
        "a lease returns messages in the order in which they became visible, not in the order of writing (messages.2)",
      async run(setup) {
        const held = await setup.hold("a");
        const timers = [2_000, 1_000].map(
          (delayMs) => ({ kind: "timer", sequence: delayMs, delayMs }) as const,
        );
        await setup.turn(held, { events: [eventText()], timers, release: true });
        await setup.environment.advance(3_000);
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ sequence }) => sequence)).toEqual([1_000, 2_000]);
      },
    },
    {
      title: "events of different names are delivered in one common order",
      async run(setup) {
        const held = await setup.hold("a");
        for (const name of ["x", "y", "x", "z", "y"])
          await setup.commit(sendItem({ id: "a", name }));
        const due = await setup.due(held);
        expect(due.map((message) => message.name)).toEqual(["x", "y", "x", "z", "y"]);
      },
    },
    {
      title:
        "messages are delivered in the order of their due times, whatever the order of writing (messages.2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [eventText(), eventText(), eventText()],
          timers: [
            { kind: "timer", sequence: 2, delayMs: 300 },
            { kind: "timer", sequence: 3, delayMs: 100 },
            { kind: "timer", sequence: 4, delayMs: 200 },
          ],
        });
        await setup.environment.advance(1_000);
        const due = await setup.due(held);
        expect(due.map((message) => message.sequence)).toEqual([3, 4, 2]);
      },
    },
    {
      title:
        "a timer that came due before an event was sent is delivered before the event (messages.2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: '"early"' }));
        await setup.environment.advance(10);
        await setup.timer(held, { delayMs: 50 });
        await setup.environment.advance(100);
        await setup.commit(sendItem({ id: "a", data: '"late"' }));
        const due = await setup.due(held);
        expect(due.map((message) => message.kind)).toEqual(["event", "timer", "event"]);
        expect(due.map((message) => message.visibleAt)).toEqual(
          due.map((message) => message.visibleAt).toSorted((x, y) => x - y),
        );
      },
    },
    {
      title: "messages with the same due time are delivered in the order of their ids (messages.2)",
      async run(setup) {
        const held = await setup.hold("a");
        const dueAt = setup.environment.now() + 100;
        await setup.turn(held, {
          events: Array.from({ length: 10 }, () => eventText()),
          timers: Array.from({ length: 10 }, (_, i) => ({
            kind: "timer",
            sequence: 11 - i,
            dueAt,
          })),
        });
        await setup.environment.advance(100);
        const ids = (await setup.due(held)).map((message) => message.id);
        expect(ids).toHaveLength(10);
        expect(ids).toEqual(ids.toSorted((x, y) => x - y));
      },
    },
    {
      title: "a clock that jumps back does not change the order of sending (messages.2, P7)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: "1" }));
        await setup.environment.advance(5_000);
        await setup.commit(sendItem({ id: "a", data: "2" }));
        setup.environment.jumpWallClock(-10_000);
        await setup.commit(sendItem({ id: "a", data: "3" }));
        await setup.commit(sendItem({ id: "a", data: "4" }));
        const received: string[] = [];
        for (let round = 0; round < 3; round++) {
          const due = await setup.due(held);
          received.push(...due.map((message) => message.data));
          await setup.turn(held, { consumed: due.map((message) => message.id) });
          await setup.environment.advance(10_000);
        }
        expect(received).toEqual(["1", "2", "3", "4"]);
      },
    },
    {
      title: "a message that is not due is visible in the inbox and not delivered",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 5_000 });
        expect(await setup.inboxKinds(held.key)).toEqual(["timer"]);
        expect(await setup.due(held)).toEqual([]);
      },
    },
    {
      title: "takeMessages returns a limited number of messages, the oldest first",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        const first = await setup.due(held, 2);
        expect(first.map((message) => message.data)).toEqual(["1", "2"]);
        await setup.turn(held, { consumed: first.map((message) => message.id) });
        expect((await setup.due(held, 2)).map((message) => message.data)).toEqual(["3"]);
      },
    },
    {
      title:
        "takeMessages for several instances applies the limit per instance and keeps their messages separate",
      async run(setup) {
        const a = await setup.hold("a");
        const b = await setup.hold("b");
        const quiet = await setup.hold("quiet");
        for (const data of ["1", "2", "3"]) {
          await setup.commit(sendItem({ id: "a", data: `"a${data}"` }));
          await setup.commit(sendItem({ id: "b", data: `"b${data}"` }));
        }
        const taken = await setup.provider.takeMessages([a.key, b.key, quiet.key], 2);
        expect(taken.get(a.key)?.map((message) => message.data)).toEqual(['"a1"', '"a2"']);
        expect(taken.get(b.key)?.map((message) => message.data)).toEqual(['"b1"', '"b2"']);
        expect(taken.get(quiet.key) ?? []).toEqual([]);
        expect((await setup.provider.takeMessages([], 2)).size).toBe(0);
      },
    },
    {
      title:
        "takeMessages does not consume: a message is delivered again until a turn consumes it (I6)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        const first = await setup.due(held);
        expect(first).toHaveLength(1);
        expect(await setup.due(held)).toEqual(first);
      },
    },
    {
      title:
        "a lease returns a limited number of messages, and the next turn returns the following ones",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        const sent = ["1", "2", "3", "4", "5"];
        for (const data of sent) await setup.commit(sendItem({ id: "a", data }));
        const leased = await setup.leaseOnly("a", BETA, { messagesMax: 2 });
        expect(leased.messages.map((message) => message.data)).toEqual(["1", "2"]);
        const next = heldFrom(leased);
        const consumed = leased.messages.map((message) => message.id);
        const { due } = await setup.turn(next, { events: [eventText()], consumed, messagesMax: 2 });
        expect(due.map((message) => message.data)).toEqual(["3", "4"]);
      },
    },
    {
      title: "a pending cancel is delivered first, however many messages were sent before it (4b)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        await setup.environment.advance(5);
        await setup.commit(cancelItem("a"));
        const first = (messages: readonly { readonly kind: string }[]) => messages[0]?.kind;
        expect(first(await setup.due(held, 2))).toBe("cancel");
        expect(first(await setup.provider.readInbox(held.key))).toBe("cancel");
        const { due } = await setup.turn(held, { events: [eventText()], messagesMax: 2 });
        expect(first(due)).toBe("cancel");
        await setup.turn(held, { events: [eventText()], release: true });
        const leased = await setup.leaseOnly("a", BETA, { messagesMax: 2 });
        expect(first(leased.messages)).toBe("cancel");
      },
    },
    {
      title: "an instance is due as long as its inbox contains an unconsumed event (18a)",
      async run(setup) {
        const held = await setup.hold("a");
        const sent = ["1", "2", "3", "4", "5"];
        for (const data of sent) await setup.commit(sendItem({ id: "a", data }));
        const received: string[] = [];
        let next = held;
        for (let left = sent.length; left > 0; left--) {
          const [oldest] = await setup.due(next);
          received.push(oldest?.data ?? "");
          const consumed = oldest === undefined ? [] : [oldest.id];
          await setup.turn(next, { events: [eventText()], consumed, release: true });
          if (left > 1) next = heldFrom(await setup.leaseOnly("a"));
        }
        expect(received).toEqual(sent);
        await setup.leaseNothing();
      },
    },
    {
      title: "unconsumed events remain unchanged across any number of executions (18a)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        const sent = await setup.provider.readInbox(held.key);
        for (let execution = 2; execution <= 4; execution++) {
          await setup.environment.advance(5);
          const { due } = await continueAsNew(setup, held);
          expect(due.map((message) => message.kind)).toEqual(["start", "event", "event", "event"]);
          expect(due.slice(1)).toEqual(sent);
        }
      },
    },
    {
      title:
        "events that a turn consumed but did not read come before unconsumed events, which remain unchanged (18a)",
      async run(setup) {
        const held = await setup.hold("a");
        const sent = ["1", "2", "3", "4", "5"];
        for (const data of sent) await setup.commit(sendItem({ id: "a", data }));
        const waiting = (await setup.provider.readInbox(held.key)).slice(3);
        for (const count of [3, 2, 3]) {
          await setup.environment.advance(5);
          const due = await setup.due(held);
          const taken = due.filter(({ kind }) => kind === "event").slice(0, count);
          const starts = due.filter(({ kind }) => kind === "start");
          await continueAsNew(setup, held, {
            events: [...starts.map(() => startedText()), ...taken.map(() => eventText())],
            consumed: [...starts, ...taken].map(({ id }) => id),
            unread: taken.map(({ name, data, key }) => ({ name: name ?? "", data, key })),
          });
          const [start, ...events] = await setup.due(held);
          expect(start?.kind).toBe("start");
          expect(events.map(({ data }) => data)).toEqual(sent);
          expect(events.slice(3)).toEqual(waiting);
        }
        const request = { key: held.key, after: null, limit: 2, bytesMax: 1_000 };
        const { messages } = await setup.provider.readEvents(request);
        const after = messages.at(-1)?.id ?? null;
        const rest = await setup.provider.readEvents({ ...request, after, limit: 10 });
        expect([...messages, ...rest.messages].map(({ data }) => data)).toEqual(sent);
      },
    },
    {
      title: "each execution can consume the next waiting event, and all events are received (P4)",
      async run(setup) {
        const held = await setup.hold("a");
        const sent = ["1", "2", "3", "4"];
        for (const data of sent) await setup.commit(sendItem({ id: "a", data }));
        await setup.turn(held, { events: [eventText()], release: true });
        const received: string[] = [];
        for (let round = 0; round < sent.length; round++) {
          const leased = await setup.leaseOnly("a", BETA);
          const next = heldFrom(leased);
          const starts = leased.messages.filter(({ kind }) => kind === "start");
          const [first] = leased.messages.filter(({ kind }) => kind === "event");
          received.push(first?.data ?? "");
          const consumed = [...starts, ...(first === undefined ? [] : [first])].map(({ id }) => id);
          const events = [...(starts.length === 0 ? [] : [startedText()]), eventText()];
          if (round % 2 === 0)
            await continueAsNew(setup, next, { events, consumed, release: true });
          else await setup.turn(next, { events, consumed, release: true });
        }
        expect(received).toEqual(sent);
        await setup.leaseNothing();
      },
    },
    {
      title: "waiting events do not prevent the delivery of a timer (messages.2)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        await setup.turn(held, {
          events: [eventText()],
          timers: [{ kind: "timer", sequence: 9, delayMs: 10 }],
          release: true,
        });
        await setup.environment.advance(20);
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ kind }) => kind)).toEqual(["event", "event", "event", "timer"]);
      },
    },
    {
      title: "a message is delivered with all fields it was sent with",
      async run(setup) {
        const sender = await setup.hold("sender");
        const held = await setup.hold("a");
        await setup.turn(sender, {
          events: [eventText()],
          sends: [
            outgoing(
              { id: "a", runId: held.runId },
              { kind: "child", execution: 1, sequence: 7, data: '{"x":1}', key: "sender/1/2" },
            ),
          ],
        });
        const [message] = await setup.due(held);
        expect(message).toMatchObject({
          kind: "child",
          execution: 1,
          sequence: 7,
          data: '{"x":1}',
          key: "sender/1/2",
          visibleAt: setup.environment.now(),
        });
      },
    },
    {
      title: "the inbox is listed in the order of delivery (messages.2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [eventText(), eventText()],
          timers: [
            { kind: "timer", sequence: 2, delayMs: 900 },
            { kind: "timer", sequence: 3, delayMs: 300 },
          ],
        });
        await setup.commit(sendItem({ id: "a" }));
        const shown = await setup.provider.readInbox(held.key);
        expect(shown.map((message) => message.sequence)).toEqual([null, 3, 2]);
        await setup.environment.advance(900);
        expect(await setup.due(held)).toEqual(shown);
      },
    },
    {
      title: "an event is due at once, even if a timer is pending",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: "1" }));
        await setup.timer(held, { delayMs: 3_600_000 });
        await setup.commit(sendItem({ id: "a", data: "2" }));
        expect((await setup.due(held)).map((message) => message.data)).toEqual(["1", "2"]);
      },
    },
  ],
};
