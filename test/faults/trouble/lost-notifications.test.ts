// Notifications are hints: work that was queued is found without them.

import { expect, test } from "vitest";
import { activity, Client, orchestration } from "../../../src/index.ts";
import { FaultInjectingProvider } from "../../../src/testing/faults/fault-injecting-provider.ts";
import { startRuntime, virtualStore } from "./support.ts";

test("at capacity a session that waits is found although its notification was lost", async () => {
  const { environment, provider } = await virtualStore();
  let isServed = false;
  const work = activity("work", async (session: string) => {
    if (session === "t") isServed = true;
    await new Promise<void>((resolve) => void environment.setTimer(100, resolve));
  });
  const busy = orchestration("busy", async (ctx) => {
    for (let i = 0; i < 200; i++) await ctx.run(work, "s", { session: "s" });
  });
  const other = orchestration("other", (ctx) => ctx.run(work, "t", { session: "t" }));
  const deaf = new FaultInjectingProvider(provider, { news: () => false });
  const options = { maxSessionsPerRuntime: 1 };
  await startRuntime(deaf.provider, [work, busy], options);
  await startRuntime(provider, [other], options);
  await new Client(deaf.provider).start(busy);
  await environment.advance(500);
  await new Client(provider).start(other);
  await environment.advance(5_000);
  expect(isServed).toBe(true);
});
