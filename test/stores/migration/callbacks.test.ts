// Tokens of callbacks stay valid when their store moves, and so do deferred tasks.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import {
  activity,
  moveStore,
  orchestration,
  Perdure,
  unmarkStore,
  type Provider,
} from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { dropSchema, freshSchema } from "../../support/postgres.ts";
import { closePool, openOnPool } from "../../support/postgres-stores.ts";

afterAll(closePool);

const callbacks = {
  secrets: ["a secret of tests, which has 32 bytes or more"],
  baseUrl: "https://example.test",
};
const tokens: string[] = [];
const publish = activity("publish", (token: string) => void tokens.push(token));
const render = activity("render", (_: undefined, { completeLater }) => {
  tokens.push(completeLater().token);
});
const order = orchestration("order", async (ctx) => {
  const [first, second] = [ctx.callback<string>("first"), ctx.callback<string>("second")];
  await ctx.run(publish, first.token);
  await ctx.run(publish, second.token);
  return [await first, await second, await ctx.run(render)];
});
const register = [publish, render, order];

async function inSqlite(): Promise<Provider> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-callbacks-"));
  const provider = await SqliteProvider.open(join(folder, "store.db"));
  onTestFinished(async () => {
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return provider;
}

async function inPostgres(): Promise<Provider> {
  const schema = freshSchema();
  onTestFinished(() => dropSchema(schema));
  const provider = await openOnPool(schema, { notifications: false });
  onTestFinished(() => provider.close());
  return provider;
}

async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await what())) await new Promise((resolve) => setImmediate(resolve));
}

test("a token is valid in the store to which its store moved", { timeout: 60_000 }, async () => {
  const [source, middle, last] = [await inSqlite(), await inPostgres(), await inSqlite()];
  const id = await source.storeId();
  expect(await middle.storeId()).not.toBe(id);

  const first = await Perdure.open(source, { register, callbacks });
  await first.client.start(order, undefined, { id: "a" });
  await until(() => tokens.length === 2);
  const [one = "", two = ""] = tokens;
  expect(await first.client.complete(one, "in the first store")).toBe("completed");
  await first.close();

  const early = await Perdure.open(middle, { autoStart: false, callbacks });
  const foreign = early.client.complete(two, "too early");
  await expect(foreign).rejects.toMatchObject({ code: "TOKEN_INVALID" });
  await moveStore(source, middle);
  expect(await middle.storeId()).toBe(id);
  // The client was opened before the move, and knew the old id of the store.
  expect(await early.client.complete(one, "repeated")).toBe("completed");
  expect(await early.client.complete(two, "in the second store")).toBe("completed");
  const second = await Perdure.open(middle, { register, callbacks });
  await until(() => tokens.length === 3);
  const isDeferred = async (): Promise<boolean> => {
    const { waitingFor } = await second.client.get("a").describe();
    return waitingFor.some((wait) => wait.kind === "activity" && wait.completesLater === true);
  };
  await until(isDeferred);
  await second.close();

  await moveStore(middle, last);
  const third = await Perdure.open(last, { register, callbacks });
  expect(await third.client.complete(tokens[2] ?? "", "in the third store")).toBe("completed");
  expect(await third.client.get("a").result({ timeout: "30s" })).toEqual([
    "in the first store",
    "in the second store",
    "in the third store",
  ]);
  await third.close();
});

test("a target that is emptied gets a new id", async () => {
  const [source, target] = [await inSqlite(), await inSqlite()];
  const id = await source.storeId();
  const stop = new AbortController();
  const onProgress = (): void => stop.abort(new Error("stopped"));
  const perdure = await Perdure.open(source, { register, callbacks });
  await perdure.client.start(order, undefined, { id: "b" });
  await perdure.close();
  const moving = moveStore(source, target, { onProgress, signal: stop.signal });
  await expect(moving).rejects.toThrow("stopped");
  await unmarkStore(target);
  expect(await target.storeId()).not.toBe(id);
  await unmarkStore(source);
  expect(await source.storeId()).toBe(id);
});
