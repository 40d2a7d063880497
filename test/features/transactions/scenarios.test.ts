// Rows of the user and of Perdure in one transaction, on both stores (semantics 31–33).

import { describe, expect, test } from "vitest";
import { job, orchestration, StepError } from "../../../src/index.ts";
import { refusalOf } from "../../faults/trouble/support.ts";
import { after, SHOPS, type Shop } from "./shops.ts";

const echo = orchestration("echo", async (_, value: string) => value);
const waits = orchestration("waits", async (ctx) => ctx.waitFor("go"));
const collects = orchestration("collects", async (ctx, count: number) => {
  const got: unknown[] = [];
  while (got.length < count) got.push(await ctx.waitFor("go"));
  return got;
});
const mail = job("mail", async (to: string) => `sent to ${to}`);
const register = [echo, waits, collects, mail];
const TIMEOUT = { timeout: "10s" } as const;

describe.each(SHOPS)("on %s", (name, open) => {
  test("an instance started in the user's transaction exists and runs after the commit", async () => {
    const { client, begin, rows } = await open({ register });
    const transaction = await begin();
    await transaction.insert("1");
    const handle = await client.start(echo, "hello", { id: "order-1", tx: transaction.tx });
    expect(await handle.exists()).toBe(false);
    await transaction.commit();
    expect(await handle.result(TIMEOUT)).toBe("hello");
    expect(await rows()).toEqual(["1"]);
  });

  test("jobs enqueued in the user's transaction exist after the commit, one by one and in bulk", async () => {
    const { client, begin } = await open({ register });
    const undone = await begin();
    await client.enqueue(mail, "nobody", { id: "undone", tx: undone.tx });
    await undone.rollback();
    const transaction = await begin();
    const { tx } = transaction;
    const one = await client.enqueue(mail, "ada", { tx });
    const ids = await client.enqueueMany(mail, ["bob", { input: "eve", priority: 1 }], { tx });
    const tooMany = Array.from({ length: 1_001 }, () => "many");
    expect((await refusalOf(client.enqueueMany(mail, tooMany, { tx }))).code).toBe(
      "INVALID_ARGUMENT",
    );
    const keyed = [{ input: "k", unique: "k" }];
    expect((await refusalOf(client.enqueueMany(mail, keyed, { tx }))).code).toBe(
      "INVALID_ARGUMENT",
    );
    expect(await one.exists()).toBe(false);
    await transaction.commit();
    const handles = [one, ...ids.map((id) => client.get(id))];
    const results = await Promise.all(handles.map((handle) => handle.result(TIMEOUT)));
    expect(results).toEqual(["sent to ada", "sent to bob", "sent to eve"]);
    expect(await client.count({ name: "mail" })).toBe(3);
  });

  test("a rollback undoes starts and raised events", async () => {
    const { client, begin, rows } = await open({ register });
    const waiting = await client.start(waits, undefined, { id: "w" });
    const transaction = await begin();
    const { tx } = transaction;
    await transaction.insert("1");
    const handle = await client.start(echo, "hello", { id: "order-1", tx });
    await waiting.raise("go", "now", { tx });
    await transaction.rollback();
    expect(await handle.exists()).toBe(false);
    expect((await waiting.unread()).items).toEqual([]);
    expect(await rows()).toEqual([]);
    await client.start(echo, "again", { id: "order-1" });
  });

  test("an event raised in the user's transaction arrives after the commit", async () => {
    const { client, begin } = await open({ register });
    const waiting = await client.start(waits, undefined, { id: "w" });
    const transaction = await begin();
    await waiting.raise("go", { paid: true }, { tx: transaction.tx });
    await transaction.commit();
    expect(await waiting.result(TIMEOUT)).toEqual({ paid: true });
  });

  test("a start and its events in one transaction arrive in order (P7)", async () => {
    const { client, begin } = await open({ register });
    const transaction = await begin();
    const { tx } = transaction;
    const events = [{ name: "go", data: 0 }];
    const handle = await client.start(collects, 4, { id: "c", tx, events });
    for (const n of [1, 2]) await handle.raise("go", n, { tx });
    await transaction.commit();
    await handle.raise("go", 3);
    expect(await handle.result(TIMEOUT)).toEqual([0, 1, 2, 3]);
  });

  test("an event with ifMissing: keep waits for the start of its id after the commit", async () => {
    const { client, begin } = await open({ register });
    const transaction = await begin();
    const { tx } = transaction;
    const missing = client.raise("later", "go", "early", { tx });
    expect(await refusalOf(missing)).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
    await client.raise("later", "go", "early", { tx, ifMissing: "keep" });
    await transaction.commit();
    const handle = await client.start(waits, undefined, { id: "later" });
    expect(await handle.result(TIMEOUT)).toBe("early");
    const next = await begin();
    const ended = client.raise("later", "go", "late", { tx: next.tx });
    expect(await refusalOf(ended)).toMatchObject({ code: "INSTANCE_FINISHED" });
    await next.rollback();
  });

  test("keepFor of an event in a transaction says how long the event is kept after the commit", async () => {
    const { client, begin } = await open({ register });
    const transaction = await begin();
    const { tx } = transaction;
    await client.raise("later", "go", "early", { tx, ifMissing: "keep", keepFor: "30d" });
    await client.raise("other", "go", "early", { tx, ifMissing: "keep" });
    await transaction.commit();
    const { items } = await client.kept();
    const days = items.map(({ createdAt, expiresAt }) => Number(expiresAt) - Number(createdAt));
    expect(days).toEqual([30 * 86_400_000, 7 * 86_400_000]);
    expect(items).toMatchObject([{ id: "later", data: "early" }, { id: "other" }]);
  });

  test("a request id counts once, inside and outside of a transaction", async () => {
    const { client, begin } = await open({ register });
    const handle = await client.start(collects, 2, { id: "c" });
    await handle.raise("go", 1, { requestId: "r" });
    const transaction = await begin();
    const { tx } = transaction;
    await handle.raise("go", 1, { requestId: "r", tx });
    await handle.raise("go", 2, { requestId: "s", tx });
    await handle.raise("go", 2, { requestId: "s", tx });
    const first = await client.start(echo, "x", { id: "e", requestId: "q", tx });
    const again = await client.start(echo, "x", { id: "e", requestId: "q", tx });
    await transaction.commit();
    expect(await handle.result(TIMEOUT)).toEqual([1, 2]);
    expect((await handle.unread()).items).toEqual([]);
    expect(await first.result(TIMEOUT)).toBe(await again.result(TIMEOUT));
  });

  test("onConflict works the same inside and outside of a transaction", async () => {
    const { client, begin } = await open({ register });
    await (await client.start(echo, "first", { id: "a" })).result();
    const transaction = await begin();
    const { tx } = transaction;
    const again = client.start(echo, "second", { id: "a", tx });
    expect(await refusalOf(again)).toMatchObject({ code: "INSTANCE_EXISTS" });
    const used = await client.start(echo, "x", { id: "a", onConflict: "useExisting", tx });
    await transaction.commit();
    expect(await used.result()).toBe("first");
  });

  test("restart and terminateExisting are refused in a transaction, and so is an invalid transaction", async () => {
    const { client, begin, idle } = await open({ register });
    const invalid = { code: "INVALID_ARGUMENT" };
    const start = (tx: object, onConflict: "fail" | "restart" | "terminateExisting" = "fail") =>
      refusalOf(client.start(echo, "x", { id: "a", tx, onConflict }));
    const unopened = await start(await idle());
    expect(unopened).toMatchObject(invalid);
    expect(unopened.message).toContain("BEGIN first");
    const transaction = await begin();
    expect(await start(transaction.tx, "restart")).toMatchObject(invalid);
    expect(await start(transaction.tx, "terminateExisting")).toMatchObject(invalid);
    expect(await start({})).toMatchObject(invalid);
    await transaction.rollback();
    expect(await client.count()).toBe(0);
  });

  describe("ctx.tx", () => {
    let shop: Shop;
    const opened = async (...own: Parameters<typeof open>): Promise<Shop> =>
      (shop = await open(...own));

    test("writes the user's rows and its checkpoint together and returns its value", async () => {
      const save = orchestration("save", async (ctx, id: string) => {
        const first = await ctx.tx("insert", (tx) =>
          after(shop.insert(tx, id), () => ({ id, at: new Date(0) })),
        );
        await ctx.tx("update", (tx) => shop.insert(tx, `${first.id}-b`));
        return first.at.getTime();
      });
      const { client, rows } = await opened({ register: [save] });
      const handle = await client.start(save, "7");
      expect(await handle.result(TIMEOUT)).toBe(0);
      expect(await rows()).toEqual(["7", "7-b"]);
      const kinds = (await handle.history()).map(({ kind }) => kind);
      expect(kinds).toEqual([
        "OrchestrationStarted",
        "StepScheduled",
        "StepCompleted",
        "StepScheduled",
        "StepCompleted",
        "OrchestrationCompleted",
      ]);
    });

    test("writes no row if its function throws, retries, and fails with a StepError", async () => {
      let runs = 0;
      const fail = orchestration("fail", async (ctx) => {
        const retry = { maxAttempts: 3, backoff: { kind: "none" } } as const;
        const broken = (): never => {
          throw new Error("no stock");
        };
        try {
          await ctx.tx("insert", (tx) => after(shop.insert(tx, `row-${++runs}`), broken), {
            retry,
          });
        } catch (error) {
          return error instanceof StepError ? [error.message, error.attempts] : error;
        }
        return "no error";
      });
      const { client, rows } = await opened({
        register: [fail],
        runtime: { shadowReplay: "never" },
      });
      const handle = await client.start(fail);
      expect(await handle.result(TIMEOUT)).toEqual(["no stock", 3]);
      expect(runs).toBe(3);
      expect(await rows()).toEqual([]);
    });

    test.each<[string, (tx: unknown) => unknown, string]>([
      ["returns a value that cannot be serialized", () => () => 1, "function"],
      ["commits the transaction", (tx) => shop.exec(tx, "COMMIT"), "ended its transaction"],
    ])("fails at once if its function %s, and writes no row", async (_, fn, why) => {
      const bad = orchestration("bad", async (ctx) => {
        await ctx.tx("insert", (tx) => {
          if (why.startsWith("ended")) return fn(tx);
          return after(shop.insert(tx, "x"), () => fn(tx));
        });
      });
      const { client, rows } = await opened({ register: [bad] });
      const handle = await client.start(bad);
      await expect(handle.result(TIMEOUT)).rejects.toMatchObject({
        cause: { message: expect.stringContaining(why) as string },
      });
      expect(await rows()).toEqual([]);
    });

    if (name === "PostgreSQL") {
      test("can start instances in its transaction, which exist after the commit", async () => {
        const both = orchestration("both", async (ctx, id: string) => {
          await ctx.tx("insert", async (tx: object) => {
            await shop.insert(tx, id);
            await shop.client.start(echo, id, { id: `echo-${id}`, tx });
            if (id === "bad") throw new Error("no");
          });
        });
        const { client, rows } = await opened({
          register: [both, echo],
          runtime: { shadowReplay: "never" },
        });
        await (await client.start(both, "good")).result(TIMEOUT);
        await expect((await client.start(both, "bad")).result(TIMEOUT)).rejects.toThrow("no");
        expect(await client.get("echo-good").result(TIMEOUT)).toBe("good");
        expect(await client.get("echo-bad").exists()).toBe(false);
        expect(await rows()).toEqual(["good"]);
      });
    }
  });
});
