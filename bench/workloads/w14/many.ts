// W14-many: 500 activities write 50 tokens per second each, to 500 streams; 500 readers in the same process follow them.
//   The measured period begins a second after the last activity has begun. Tokens per second: those read in the period.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { activity, orchestration } from "../../../src/index.ts";
import { cpuOf, until, withLoopDelay } from "../../measure.ts";
import { STREAMS, STREAMS_MS, STREAMS_WARM_UP_MS } from "../../sizes.ts";
import type { Run } from "../../subject.ts";
import { machineMs, TokenTimes, writeTokens } from "../../tokens.ts";
import { assertUntroubled, withPerdure } from "../../support/open.ts";
import { readTokens, tokens } from "../../support/token-streams.ts";

export const run: Run = (setting) => {
  const times = new TokenTimes({ from: Infinity });
  let begun = 0;
  const think = activity("think", async (index: number, { stream }) => {
    begun++;
    await using out = stream(tokens);
    const isNext = (_: number, dueAt: number): boolean => dueAt < times.until;
    return await writeTokens(index / STREAMS, isNext, (token) => out.write(token));
  });
  const chat = orchestration("chat", async (ctx, index: number) => {
    const written = await ctx.run(think, index);
    ctx.stream(tokens).close();
    return written;
  });
  return withPerdure(setting, { register: [chat, think] }, async (perdure) => {
    const indexes = Array.from({ length: STREAMS }, (_, index) => index);
    const chats = indexes.map(async (index) => {
      const handle = await perdure.client.start(chat, index);
      const read = await readTokens(handle, times);
      assert.equal(read, await handle.result(), "a reader gets every token");
    });
    const all = Promise.all(chats);
    const started = until("every activity has begun", () => begun === STREAMS);
    await Promise.race([started, all]);
    times.from = machineMs() + STREAMS_WARM_UP_MS;
    times.until = times.from + STREAMS_MS;
    await Promise.race([pause(STREAMS_WARM_UP_MS), all]);
    const { value: cpuUs, loopP99Ms } = await withLoopDelay(() =>
      cpuOf(() => Promise.race([pause(STREAMS_MS), all])),
    );
    await all;
    await assertUntroubled(perdure, STREAMS);
    const n = STREAMS;
    return [
      { metric: "itemsPerS", value: times.ratePerS, n },
      ...times.latencies(n),
      { metric: "cpuUsPerItem", value: cpuUs / ((times.ratePerS * STREAMS_MS) / 1_000), n },
      { metric: "loopP99Ms", value: loopP99Ms, n },
    ];
  });
};
