// The runtime's end of a thread's store: news does not pile up, and what is wrong is said in words.

import { expect, onTestFinished, test } from "vitest";
import { defaultCodec } from "../core/codec.ts";
import { fromFailure, type Failure } from "../core/failure.ts";
import type { News } from "../core/provider/notifications.ts";
import { SqliteProvider } from "../sqlite/index.ts";
import { startItem } from "../testing/conformance/fixture.ts";
import type { ToThread } from "./thread-messages.ts";
import { ThreadStoreHost } from "./thread-store-host.ts";

async function hosted() {
  const provider = await SqliteProvider.open(":memory:");
  onTestFinished(() => provider.close());
  let tell: (news: Partial<News>) => void = () => undefined;
  provider.subscribe = (listener) => {
    tell = (news) => listener({ due: [], changed: [], tasks: false, elsewhere: false, ...news });
    return () => (tell = () => undefined);
  };
  const sent: ToThread[] = [];
  const host = new ThreadStoreHost(provider, (message) => void sent.push(message));
  const news = () =>
    sent.flatMap((message) => (message.kind === "news" ? [JSON.parse(message.news) as News] : []));
  return { host, sent, news, tell: (given: Partial<News>) => tell(given) };
}

test("news waits until the last was heard, and comes together then", async () => {
  const { host, news, tell } = await hosted();
  host.listen(true);
  tell({ changed: ["a"] });
  for (const id of ["b", "c", "b"]) tell({ changed: [id], progressed: ["d"] });
  tell({ due: ["nobody there takes turns"], tasks: true });
  expect(news().map(({ changed }) => changed)).toEqual([["a"]]);
  host.heard();
  expect(news().map(({ changed }) => changed)).toEqual([["a"], ["b", "d", "c"]]);
  host.heard();
  expect(news()).toHaveLength(2);
});

test("too much of it becomes: look at everything (I12)", async () => {
  const { host, news, tell } = await hosted();
  host.listen(true);
  tell({ changed: ["first"] });
  for (let i = 0; i < 5_000; i++) tell({ changed: [`i-${i}`] });
  host.heard();
  expect(news().at(-1)).toEqual({ due: [], changed: [], tasks: false, elsewhere: true });
});

test("whoever stops listening is told no more", async () => {
  const { host, news, tell } = await hosted();
  host.listen(true);
  host.listen(false);
  tell({ changed: ["a"] });
  expect(news()).toEqual([]);
});

test("calls are answered one by one; an error crosses with its code", async () => {
  const { host, sent } = await hosted();
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
  if (refused?.kind !== "refusal") throw new Error("it was not refused");
  expect(fromFailure(JSON.parse(refused.failure) as Failure).message).toContain("noSuchMethod");
});
