// Activities in threads complete later, as in the process.

import { expect, test } from "vitest";
import { orchestration, Perdure, threads } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { later, selfMade } from "./threads/activities.ts";

const callbacks = {
  secrets: ["a secret of tests, which has 32 bytes or more"],
  baseUrl: "https://example.test",
};
const executor = threads({ module: new URL("./threads/activities.ts", import.meta.url), size: 1 });

test("an activity in a thread is completed from outside, and by its own client", async () => {
  const main = orchestration("main", async (ctx) => [
    await ctx.run(selfMade, "self"),
    await ctx.run(later),
  ]);
  const provider = await SqliteProvider.open(":memory:");
  const register = [main, later, selfMade];
  const perdure = await Perdure.open(provider, { register, runtime: { executor }, callbacks });
  const handle = await perdure.client.start(main, undefined, { id: "a" });
  let token: unknown;
  for await (const { waitingFor } of handle.watch()) {
    const [wait] = waitingFor;
    if (wait?.kind !== "activity" || wait.completesLater !== true) continue;
    token = wait.progress;
    break;
  }
  await perdure.client.complete(String(token), "outside");
  expect(await handle.result({ timeout: "30s" })).toEqual(["self, false", "outside"]);
  expect(perdure.runtime.stats().activities.deferred).toBeGreaterThan(0);
  await perdure.close();
  await provider.close();
});
