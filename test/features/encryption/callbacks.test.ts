// With an encrypting codec, the store holds neither the address of a callback nor its value in plain text.

import { expect, test } from "vitest";
import { activity, orchestration, Perdure } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { both } from "./support.ts";

const callbacks = {
  secrets: ["a secret of tests, which has 32 bytes or more"],
  baseUrl: "https://example.test",
};

test("addresses, values and headers of callbacks are encrypted", async () => {
  const tokens: string[] = [];
  const publish = activity("publish", (token: string) => void tokens.push(token));
  const render = activity("render", (_: undefined, { completeLater }) => {
    tokens.push(completeLater().token);
  });
  const order = orchestration("order", async (ctx) => {
    const paid = ctx.callback<string>("paid");
    await ctx.run(publish, paid.token);
    return [await paid, paid.headers, await ctx.run(render)];
  });
  const provider = await SqliteProvider.open(":memory:");
  await using perdure = await Perdure.open(provider, {
    register: [publish, render, order],
    runtime: { codec: both },
    callbacks,
  });
  const handle = await perdure.client.start(order, undefined, { id: "a" });
  const token = async (index: number): Promise<string> => {
    while (tokens[index] === undefined) await new Promise((resolve) => setImmediate(resolve));
    return tokens[index];
  };
  await perdure.client.complete(await token(0), "secret value", { headers: { "x-a": "secret 1" } });
  await perdure.client.complete(await token(1), "secret film");
  expect(await handle.result({ timeout: "30s" })).toEqual([
    "secret value",
    { "x-a": "secret 1" },
    "secret film",
  ]);
  const { key = 0 } = (await provider.readInstance("a")) ?? {};
  const rows = await provider.readHistory({ key, execution: 1 });
  const stored = rows.map(({ data }) => data).join("\n");
  expect(stored).toContain("CallbackCreated");
  for (const plain of [await token(0), "example.test", "secret"]) {
    expect(stored).not.toContain(plain);
  }
  await perdure.close();
  await provider.close();
});
