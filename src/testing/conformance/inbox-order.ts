// Inbox: what waits is handed over in order, and within one name in the order of sending (B2, P7).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { continueAsNew } from "./continue-as-new.ts";
import {
  BETA,
  cancelItem,
  eventText,
  heldFrom,
  outgoing,
  sendItem,
  startedText,
} from "./fixture.ts";

export const inboxOrder: ContractSubject = {
  subject: "inbox order",
  cases: [
    {
      title: "events are handed over in the order in which they were sent (P7)",
      async run(setup) {
        const held = await setup.hold("a");
        const sent = Array.from({ length: 30 }, (_, i) => `${i}`);
        for (const data of sent) await setup.commit(sendItem({ id: "a", data }));
        expect((await setup.due(held)).map((message) => message.data)).toEqual(sent);
      },
    },
    {
      title: "events of one group are handed over in the group's order",
      async run(setup) {
        const held = await setup.hold("a");
        const sent = Array.from({ length: 30 }, (_, i) => `${i}`);
        await setup.provider.commit(sent.map((data) => sendItem({ id: "a", data })));
        expect((await setup.due(held)).map((message) => message.data)).toEqual(sent);
      },
    },
    {
      title: "a lease hands over what became visible first before what was written first (B2)",
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
      title: "events of different names keep their common order",
      async run(setup) {
        const held = await setup.hold("a");
        for (const name of ["x", "y", "x", "z", "y"])
          await setup.commit(sendItem({ id: "a", name }));
        const due = await setup.due(held);
        expect(due.map((message) => message.name)).toEqual(["x", "y", "x", "z", "y"]);
      },
    },
    {
      title: "what comes due earlier is handed over earlier, whenever it was written (B2)",
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
      title: "a timer that came due before an event was sent is handed over before it (B2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: '"early"' }));
        await setup.environment.advance(10);
        await setup.turn(held, {
          events: [eventText()],
          timers: [{ kind: "timer", sequence: 2, delayMs: 50 }],
        });
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
      title: "messages due at one instant are handed over in the order of their ids (B2)",
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
      title: "a clock that goes back does not turn the order of sending round (B2, P7)",
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
      title: "what is not due yet is shown in the inbox and handed to nobody",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [eventText()],
          timers: [{ kind: "timer", sequence: 2, delayMs: 5_000 }],
        });
        expect(await setup.inboxKinds(held.key)).toEqual(["timer"]);
        expect(await setup.due(held)).toEqual([]);
      },
    },
    {
      title: "taking messages is bounded and begins with the oldest",
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
      title: "taking messages of several instances bounds each of them and mixes none",
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
      title: "taking does not consume: what no turn consumed is handed over again (I6)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        const first = await setup.due(held);
        expect(first).toHaveLength(1);
        expect(await setup.due(held)).toEqual(first);
      },
    },
    {
      title: "a lease hands over a bounded number of messages, and the rest after them",
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
      title: "a pending cancel is handed over first, however many messages wait before it (4b)",
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
      title: "an instance is due as long as one of its events waits, whatever a turn leaves (18a)",
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
      title: "events that no turn took stay as they are, over any number of executions (18a)",
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
        "events that a turn took and did not read come before those that wait, which stay (18a)",
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
      title: "each execution can take the next of the events that wait, and all are received (P4)",
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
      title: "events that wait do not keep a timer from being handed over (B2)",
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
      title: "a message carries everything it was sent with",
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
      title: "the inbox is shown in the order in which it will be handed over (B2)",
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
      title: "an event is due at once, whatever else waits for later",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: "1" }));
        await setup.turn(held, {
          events: [eventText()],
          timers: [{ kind: "timer", sequence: 2, delayMs: 3_600_000 }],
        });
        await setup.commit(sendItem({ id: "a", data: "2" }));
        expect((await setup.due(held)).map((message) => message.data)).toEqual(["1", "2"]);
      },
    },
  ],
};
