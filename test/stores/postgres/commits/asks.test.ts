// Asks and dispatched items: how many round trips they take, and what the notifications of asks contain.

import { describe, expect, onTestFinished, test } from "vitest";
import type { CommitResult, Dispatch, News } from "../../../../src/index.ts";
import type { PostgresProvider } from "../../../../src/postgres/index.ts";
import {
  ALPHA,
  askerOf,
  askItem,
  askStart,
  eventText,
  fresh,
  sendItem,
  startItem,
  turnItem,
  VERSION,
  type Held,
} from "../../../../src/testing/conformance/fixture.ts";
import { countRoundTrips } from "./round-trips.ts";
import { openStoreFor } from "../support.ts";

const MANY = 40;

/** Instances that ALPHA holds after their first turns. */
async function begun(store: PostgresProvider, ids: readonly string[]): Promise<Held[]> {
  const items = ids.map((id) => startItem({ id, lease: { owner: ALPHA, token: fresh() } }));
  const started = await store.commit(items);
  const held = items.map(({ id, runId, lease }, i): Held => {
    const result = started[i];
    const key = result?.kind === "started" ? result.key : -1;
    return { id, runId, key, execution: 1, token: lease?.token ?? 0, lastEvent: 0 };
  });
  const turns = held.map((one, i) => {
    const result = started[i];
    const start = result?.kind === "started" ? result.leased : null;
    return turnItem(one, { events: [eventText()], consumed: [start?.id ?? -1] });
  });
  await store.commit(turns);
  return held.map((one) => ({ ...one, lastEvent: 1 }));
}

const idsOf = (name: string, count = MANY): string[] =>
  Array.from({ length: count }, (_, i) => `${name}-${i}`);

/** What a passage of a limiter dispatches: an ask and a send. */
function passage(held: Held, id: string): readonly Dispatch[] {
  return [
    { sequence: 2, item: askItem({ id, asker: askerOf(held, 2) }) },
    { sequence: 3, item: sendItem({ id }) },
  ];
}

function dueOf(result: CommitResult | undefined): string[] {
  return result?.kind === "committed"
    ? (result.due ?? []).map(({ kind, sequence }) => `${kind} ${sequence}`)
    : [];
}

describe("one round trip writes", () => {
  test("many asks, also repeated ones and sends between them, in their order", async () => {
    const store = await openStoreFor([ALPHA], { notifications: false });
    const [held] = await begun(store, ["a"]);
    const items = Array.from({ length: MANY }, (_, i) =>
      i % 3 === 0 ? sendItem({ id: "a" }) : askItem({ id: "a" }),
    );
    const roundTrips = countRoundTrips();
    const results = await store.commit([...items, ...items.map((item) => ({ ...item }))]);
    expect(roundTrips()).toBe(1);
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(["done", "asked"]));
    const inbox = await store.readInbox(held?.key ?? -1);
    expect(inbox.map(({ key }) => key?.replace("perdure.request:", ""))).toEqual(
      items.map(({ requestId }) => requestId),
    );
  });

  test("turns with dispatched asks and sends, and the replies to them", async () => {
    const store = await openStoreFor([ALPHA], { notifications: false });
    await begun(store, ["limiter"]);
    const senders = await begun(store, idsOf("sender"));
    const roundTrips = countRoundTrips();
    const results = await store.commit(
      senders.map((held) => turnItem(held, { dispatched: passage(held, "limiter") })),
    );
    expect(roundTrips()).toBe(1);
    expect(results.map(dueOf)).toEqual(senders.map(() => ["sent 3"]));
  });

  test("answers", async () => {
    const store = await openStoreFor([ALPHA], { notifications: false });
    const [held] = await begun(store, ["a"]);
    if (held === undefined) throw new Error("the instance was not started");
    const asks = Array.from({ length: MANY }, () => askItem({ id: "a" }));
    await store.commit(asks);
    const roundTrips = countRoundTrips();
    const answers = asks.map(({ requestId }) => ({ requestId, answer: `"${requestId}"` }));
    await store.commit([turnItem(held, { answers })]);
    expect(roundTrips()).toBe(1);
    const read = await store.readAsks(
      "a",
      asks.map(({ requestId }) => requestId),
    );
    expect(new Map(read?.asks.map(({ requestId, answer }) => [requestId, answer]))).toEqual(
      new Map(answers.map(({ requestId, answer }) => [requestId, answer])),
    );
  });
});

test("the round trips of dispatched starts do not grow with their number", async () => {
  const store = await openStoreFor([ALPHA], { notifications: false });
  const roundTrips = countRoundTrips();
  const commit = async (count: number): Promise<number> => {
    const senders = await begun(store, idsOf(`sender-of-${count}`, count));
    const before = roundTrips();
    const results = await store.commit(
      senders.map((held) => {
        const item = startItem({ id: `${held.id}-started` });
        return turnItem(held, { dispatched: [{ sequence: 2, item }] });
      }),
    );
    expect(results.map(dueOf)).toEqual(senders.map(() => ["sent 2"]));
    return roundTrips() - before;
  };
  expect(await commit(MANY)).toBe(await commit(1));
});

test("a dispatched item that is refused leaves the other turns of its group as they are", async () => {
  const store = await openStoreFor([ALPHA]);
  await begun(store, ["limiter"]);
  const [one, other] = await begun(store, ["one", "other"]);
  if (one === undefined || other === undefined) throw new Error("the instances were not started");
  const missing = askItem({ id: "missing", asker: askerOf(other, 2) });
  const started = askItem({ id: "started", asker: askerOf(other, 3), start: askStart("started") });
  const [first, second] = await store.commit([
    turnItem(one, { dispatched: passage(one, "limiter") }),
    turnItem(other, {
      dispatched: [
        { sequence: 2, item: missing },
        { sequence: 3, item: started },
      ],
    }),
  ]);
  expect(dueOf(first)).toEqual(["sent 3"]);
  expect(dueOf(second)).toEqual(["answer 2"]);
  expect(second).toMatchObject({ undelivered: [{ sequence: 2, code: "INSTANCE_NOT_FOUND" }] });
  expect(first).not.toHaveProperty("undelivered");
  expect(await store.readAsks("started", [started.requestId])).toMatchObject({
    asks: [{ state: "open" }],
  });
});

test("a first turn is written with its start if its dispatched items are accepted, and else left out", async () => {
  const store = await openStoreFor([ALPHA]);
  await begun(store, ["limiter"]);
  const start = async (id: string, to: string): Promise<CommitResult | undefined> => {
    const lease = { owner: ALPHA, token: fresh() };
    const item = startItem({ id, lease });
    const held = { id, runId: item.runId, key: 0, execution: 1, token: lease.token, lastEvent: 0 };
    const events = [item.started];
    const firstTurn = turnItem(held, { version: VERSION, events, dispatched: passage(held, to) });
    const [result] = await store.commit([{ ...item, firstTurn }]);
    return result;
  };
  expect(await start("a", "limiter")).toMatchObject({ leased: null, due: [{ kind: "sent" }] });
  const other = await start("b", "missing");
  expect(other).toMatchObject({ kind: "started", leased: { kind: "start" } });
  expect(other).not.toHaveProperty("due");
});

test("the notification of a request contains the request as the inbox has it", async () => {
  const store = await openStoreFor([ALPHA]);
  const [a, b] = await begun(store, ["a", "b"]);
  if (a === undefined || b === undefined) throw new Error("the instances were not started");
  const received: News[] = [];
  onTestFinished(store.subscribe((news) => received.push(news)));
  await store.commit([askItem({ id: "a" })]);
  await store.commit([turnItem(a, { dispatched: passage(a, "b").slice(0, 1) })]);
  const taken = await store.takeMessages([a.key, b.key], 10);
  const events = received.flatMap(({ dueEvents }) => [...(dueEvents ?? [])]);
  expect(events.map(([id, { message }]) => [id, message])).toEqual([
    ["a", taken.get(a.key)?.[0]],
    ["b", taken.get(b.key)?.[0]],
  ]);
});
