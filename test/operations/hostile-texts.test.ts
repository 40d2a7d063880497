// Texts that a store cannot hold (U+0000, half of a surrogate pair) are refused as arguments, with both stores.

import { expect, onTestFinished, test } from "vitest";
import { activity, Client, orchestration, Runtime } from "../../src/index.ts";
import { freshStore } from "../support/test-store.ts";

const BAD = ["a\0b", "\0", "a\ud800b", "\udfff"];

async function clientWith(id: string) {
  const store = await freshStore();
  const client = new Client(store);
  await client.start("o", undefined, { id });
  return { client, store, handle: client.get(id) };
}

type Opened = Awaited<ReturnType<typeof clientWith>>;
type Call = (opened: Opened, bad: string) => unknown;

const REFUSED: Readonly<Record<string, Call>> = {
  "list: name": ({ client }, bad) => client.list({ name: bad }),
  "list: version": ({ client }, bad) => client.list({ version: bad }),
  "list: parent": ({ client }, bad) => client.list({ parent: bad }),
  "list: idPrefix": ({ client }, bad) => client.list({ idPrefix: bad }),
  "list: ids": ({ client }, bad) => client.list({ ids: ["a", bad] }),
  "list: attribute": ({ client }, bad) => client.list({ attributes: { a: bad } }),
  "list: attribute name": ({ client }, bad) => client.list({ attributes: { [bad]: "a" } }),
  "list: cursor": ({ client }, bad) => client.list({}, { cursor: bad }),
  "count: name": ({ client }, bad) => client.count({ name: bad }),
  "deleteMany: idPrefix": ({ client }, bad) => client.deleteMany({ idPrefix: bad }),
  "start: name": ({ client }, bad) => client.start(bad, undefined),
  "start: id": ({ client }, bad) => client.start("o", undefined, { id: bad }),
  "start: version": ({ client }, bad) => client.start("o", undefined, { version: bad }),
  "start: attribute": ({ client }, bad) => client.start("o", undefined, { attributes: { a: bad } }),
  "start: request id": ({ client }, bad) => client.start("o", undefined, { requestId: bad }),
  "start: event": ({ client }, bad) => client.start("o", undefined, { events: [{ name: bad }] }),
  "get: id": async ({ client }, bad) => client.get(bad).describe(),
  "raise: id": ({ client }, bad) => client.raise(bad, "e"),
  "raise: event": ({ handle }, bad) => handle.raise(bad),
  "raise: request id": ({ handle }, bad) => handle.raise("e", 1, { requestId: bad }),
  "kv: key": ({ handle }, bad) => handle.kv.get(bad),
  "restart: request id": ({ handle }, bad) => handle.restart({ requestId: bad }),
  "fork: id": ({ client }, bad) => client.fork("i", { beforeSequence: 1, id: bad }),
  "delete: id": ({ client }, bad) => client.delete(bad),
  "prune: id": ({ client }, bad) => client.prune(bad),
  "runtime: name": async ({ store }, bad) =>
    new Runtime(store, { register: [], workerNodeId: bad }),
  "runtime: tag": async ({ store }, bad) =>
    new Runtime(store, { register: [], tags: { tags: [bad], untagged: true } }),
  "activity: name": async (_, bad) => activity(bad, async () => 1),
  "activity: tag": async (_, bad) => activity("a", async () => 1, { tags: bad }),
  "orchestration: version": async (_, bad) => orchestration("o", async () => 1, { version: bad }),
};

test.each(Object.keys(REFUSED))(
  "%s with a text that no store can hold is refused",
  async (what) => {
    for (const bad of BAD) {
      const opened = await clientWith("i");
      const call = async (): Promise<unknown> => REFUSED[what]?.(opened, bad);
      await expect(call(), JSON.stringify(bad)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(await opened.client.count({})).toBe(1);
    }
  },
);

const KEPT: Readonly<Record<string, Call>> = {
  pause: ({ handle }, bad) => handle.pause({ reason: bad, by: bad }),
  cancel: ({ handle }, bad) => handle.cancel({ reason: bad, by: bad }),
  terminate: ({ handle }, bad) => handle.terminate({ reason: bad, by: bad }),
};

test.each(Object.keys(KEPT))(
  "%s accepts such a text as a reason, and the instance stays readable",
  async (what) => {
    for (const bad of BAD) {
      const opened = await clientWith("i");
      await KEPT[what]?.(opened, bad);
      await expect(opened.handle.describe()).resolves.toMatchObject({ id: "i" });
    }
  },
);

test("ctx.run refuses tags and sessions with such a text", async () => {
  const store = await freshStore();
  const act = activity("a", async () => 1);
  const calls = orchestration("calls", async (ctx, bad: string) => {
    const codes: unknown[] = [];
    for (const options of [{ session: bad }, { tags: bad }]) {
      try {
        await ctx.run(act, undefined, options);
      } catch (error) {
        codes.push(error instanceof Error && "code" in error ? error.code : error);
      }
    }
    return codes;
  });
  const runtime = new Runtime(store, { register: [act, calls], log: () => undefined });
  onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
  await runtime.start();
  for (const bad of ["a\0b"]) {
    const handle = await new Client(store).start(calls, bad);
    expect(await handle.result()).toEqual(["INVALID_ARGUMENT", "INVALID_ARGUMENT"]);
  }
});
