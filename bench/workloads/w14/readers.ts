// W14-readers: an activity writes 50 tokens per second to one stream, and 1,000 readers in the same process follow it.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { activity, orchestration } from "../../../src/index.ts";
import { withLoopDelay } from "../../measure.ts";
import { READERS, READERS_MS, STREAMS_WARM_UP_MS } from "../../sizes.ts";
import type { Run } from "../../subject.ts";
import { machineMs, TokenTimes, writeTokens } from "../../tokens.ts";
import { CallCount } from "../../support/counting-provider.ts";
import { assertUntroubled, withPerdure } from "../../support/open.ts";
import { readTokens, tokens } from "../../support/token-streams.ts";

export const run: Run = (setting) => {
  const times = new TokenTimes({ from: Infinity });
  const think = activity("think", async (_: null, { stream }) => {
    await using out = stream(tokens);
    const isNext = (_index: number, dueAt: number): boolean => dueAt < times.until;
    return await writeTokens(0, isNext, (token) => out.write(token));
  });
  const chat = orchestration("chat", async (ctx) => {
    const written = await ctx.run(think, null);
    ctx.stream(tokens).close();
    return written;
  });
  const count = new CallCount();
  const reads = (): number => count.byMethod.get("readStream") ?? 0;
  return withPerdure(
    setting,
    { register: [chat, think] },
    async (perdure) => {
      const handle = await perdure.client.start(chat);
      const all = Promise.all(Array.from({ length: READERS }, () => readTokens(handle, times)));
      times.from = machineMs() + STREAMS_WARM_UP_MS;
      times.until = times.from + READERS_MS;
      await Promise.race([pause(STREAMS_WARM_UP_MS), all]);
      const readsBefore = reads();
      const { loopP99Ms } = await withLoopDelay(() => Promise.race([pause(READERS_MS), all]));
      const readsPerS = ((reads() - readsBefore) / READERS_MS) * 1_000;
      const written = await handle.result();
      for (const read of await all) assert.equal(read, written, "every reader gets every token");
      await assertUntroubled(perdure, 1);
      const n = READERS;
      return [
        { metric: "readsPerS", value: readsPerS, n },
        { metric: "itemsPerS", value: times.ratePerS, n },
        ...times.latencies(n),
        { metric: "loopP99Ms", value: loopP99Ms, n },
      ];
    },
    (provider) => count.around(provider),
  );
};
