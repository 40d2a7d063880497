// The runtime's side of a store for threads: notifications do not pile up, and errors cross with their message.

import { expect, onTestFinished, test } from "vitest";
import { defaultCodec } from "../../../../src/core/values/codec.ts";
import { fromFailure, type Failure } from "../../../../src/core/errors/failure.ts";
import type { News } from "../../../../src/core/provider/notifications.ts";
import { SqliteProvider } from "../../../../src/sqlite/index.ts";
import { startItem } from "../../../../src/testing/conformance/fixture.ts";
import type { ToThread } from "../../../../src/runtime/threads/thread-messages.ts";
import { ThreadStoreHost } from "../../../../src/runtime/threads/thread-store-host.ts";

async function setup() {
  const provider = await SqliteProvider.open(":memory:");
  onTestFinished(() => provider.close());
  let notify: (news: Partial<News>) => void = () => undefined;
  provider.subscribe = (listener) => {
    notify = (news) => listener({ due: [], changed: [], tasks: false, elsewhere: false, ...news });
    return () => (notify = () => undefined);
  };
  const sent: ToThread[] = [];
  const host = new ThreadStoreHost(provider, (message) => void sent.push(message));
  const news = () =>
    sent.flatMap((message) =>
      message.kind === "changes" ? [JSON.parse(message.changes) as News] : [],
    );
  return { host, sent, news, notify: (given: Partial<News>) => notify(given) };
}

test("notifications wait until the thread has handled the previous message, and are then sent as one message", async () => {
  const { host, news, notify } = await setup();
  host.listen(true);
  notify({ changed: ["a"] });
  for (const id of ["b", "c", "b"]) notify({ changed: [id], progressed: ["d"] });
  notify({ due: ["threads run no turns"], tasks: true });
  expect(news().map(({ changed }) => changed)).toEqual([["a"]]);
  host.handled();
  expect(news().map(({ changed }) => changed)).toEqual([["a"], ["b", "d", "c"]]);
  host.handled();
  expect(news()).toHaveLength(2);
});

test("too many waiting notifications become one notification to read everything (I12)", async () => {
  const { host, news, notify } = await setup();
  host.listen(true);
  notify({ changed: ["first"] });
  for (let i = 0; i < 5_000; i++) notify({ changed: [`i-${i}`] });
  host.handled();
  expect(news().at(-1)).toEqual({ due: [], changed: [], tasks: false, elsewhere: true });
});

test("after listen(false) no notification is sent", async () => {
  const { host, news, notify } = await setup();
  host.listen(true);
  host.listen(false);
  notify({ changed: ["a"] });
  expect(news()).toEqual([]);
});

test("each call gets its own answer; an error crosses to the thread with its message", async () => {
  const { host, sent } = await setup();
  const parameters = (...values: unknown[]) => defaultCodec.encode(values);
  const call = (id: number, method: string, ...values: unknown[]) =>
    host.call({ kind: "call", id, method, parameters: parameters(...values) });
  await call(1, "commit", [startItem({ id: "a" }), startItem({ id: "a" })]);
  await call(2, "readInstance", "a");
  await call(3, "noSuchMethod");
  const [committed, read, refused] = sent;
  const value = (message: ToThread | undefined) =>
    message?.kind === "answer" ? defaultCodec.decode(message.value) : message;
  expect(value(committed)).toMatchObject([{ kind: "started" }, { kind: "refused" }]);
  expect(value(read)).toMatchObject({ id: "a", status: "pending" });
  if (refused?.kind !== "refusal") throw new Error("the call was not refused");
  expect(fromFailure(JSON.parse(refused.failure) as Failure).message).toContain("noSuchMethod");
});
