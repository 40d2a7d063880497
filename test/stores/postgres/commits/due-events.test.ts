// Events in notifications: a runtime that holds the receiver takes the event from the notification, without a read.

import { describe, expect, onTestFinished, test, vi } from "vitest";
import { event, orchestration, type News } from "../../../../src/index.ts";
import type { PostgresProvider } from "../../../../src/postgres/index.ts";
import {
  ALPHA,
  eventText,
  fresh,
  sendItem,
  startItem,
  turnItem,
  type Held,
} from "../../../../src/testing/conformance/fixture.ts";
import { openStore, openStoreFor, startRuntime, until } from "../support.ts";

/** An instance that ALPHA holds and whose last turn has the id `commitId`. */
async function begun(store: PostgresProvider, id: string, commitId: number): Promise<Held> {
  const token = fresh();
  const item = startItem({ id, lease: { owner: ALPHA, token }, events: [] });
  const [started] = await store.commit([item]);
  if (started?.kind !== "started") throw new Error("the instance was not started");
  const held = { id, runId: item.runId, key: started.key, execution: 1, token, lastEvent: 0 };
  const consumed = [started.leased?.id ?? -1];
  await store.commit([{ ...turnItem(held, { events: [eventText()], consumed }), commitId }]);
  return { ...held, lastEvent: 1 };
}

function dueEventsIn(store: PostgresProvider): () => string[] {
  const received: News[] = [];
  onTestFinished(store.subscribe((news) => received.push(news)));
  return () =>
    received.flatMap(({ dueEvents }) =>
      [...(dueEvents ?? [])].map(([id, { message }]) => `${id}: ${message.key}`),
    );
}

describe("the notification of an event contains the event", () => {
  test("as the inbox has it, with the receiver's last turn", async () => {
    const store = await openStoreFor([ALPHA]);
    const { key } = await begun(store, "a", 77);
    const received: News[] = [];
    onTestFinished(store.subscribe((news) => received.push(news)));
    await store.commit([sendItem({ id: "a" })]);
    const [message] = (await store.takeMessages([key], 10)).get(key) ?? [];
    expect(received.map(({ dueEvents }) => dueEvents)).toEqual([
      new Map([["a", { message, lastCommit: 77 }]]),
    ]);
  });

  test("unless the receiver has another message that is due", async () => {
    const store = await openStoreFor([ALPHA]);
    const held = await begun(store, "a", 77);
    await store.commit([
      turnItem(held, { timers: [{ kind: "timer", sequence: 9, delayMs: 0 }], events: [] }),
    ]);
    const received = dueEventsIn(store);
    await store.commit([sendItem({ id: "a", requestId: "behind a timer" })]);
    await begun(store, "b", 78);
    await store.commit([sendItem({ id: "b", requestId: "first" })]);
    await store.commit([sendItem({ id: "b", requestId: "behind an event" })]);
    expect(received()).toEqual(["b: first"]);
  });

  test("unless the same commit sends the receiver two events", async () => {
    const store = await openStoreFor([ALPHA]);
    await begun(store, "a", 77);
    const received = dueEventsIn(store);
    await store.commit([
      sendItem({ id: "a", requestId: "one" }),
      sendItem({ id: "a", requestId: "two" }),
    ]);
    expect(received()).toEqual([]);
  });
});

describe("a runtime", () => {
  const go = event<number>("go");
  const pair = orchestration("pair", async (ctx) => [await ctx.waitFor(go), await ctx.waitFor(go)]);

  test("takes the event from the notification, without a read", async () => {
    const store = await openStore();
    const { client } = await startRuntime(store, [pair]);
    const handle = await client.start(pair);
    await until(
      "the instance waits",
      async () => (await handle.describe()).waitingFor.length === 1,
    );
    const reads = vi.spyOn(store, "takeMessages");
    await handle.raise(go, 1);
    await until("the first event is taken", async () => (await handle.history()).length > 2);
    await handle.raise(go, 2);
    expect(await handle.result({ timeout: "20s" })).toEqual([1, 2]);
    expect(reads).not.toHaveBeenCalled();
  });

  test("ignores the event of a late notification: a turn has consumed it", async () => {
    const store = await openStore();
    const listeners: ((news: News) => void)[] = [];
    const received: News[] = [];
    const subscribe = store.subscribe.bind(store);
    vi.spyOn(store, "subscribe").mockImplementation((listener) => {
      listeners.push(listener);
      return subscribe(listener);
    });
    const { client } = await startRuntime(store, [pair]);
    const handle = await client.start(pair);
    await until(
      "the instance waits",
      async () => (await handle.describe()).waitingFor.length === 1,
    );
    onTestFinished(subscribe((news) => received.push(news)));
    await handle.raise(go, 1);
    await until("the first event is taken", async () => (await handle.history()).length > 2);
    const late = received.find(({ dueEvents }) => dueEvents?.has(handle.id));
    if (late === undefined) throw new Error("no notification contains the event");
    for (const listener of listeners) listener(late);
    await handle.raise(go, 2);
    expect(await handle.result({ timeout: "20s" })).toEqual([1, 2]);
  });
});
