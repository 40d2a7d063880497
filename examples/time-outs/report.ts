// Delays and timeouts: of one attempt, of a call with all its attempts, of several calls together.

import { setTimeout as pause } from "node:timers/promises";
import { activity, ActivityError, orchestration } from "../../src/index.ts";

export interface Source {
  readonly name: string;
  /** The duration of each attempt; the last number repeats. */
  readonly answersAfterMs: readonly number[];
}

/** Slow at times. It passes its signal on, so that a timeout really ends it. */
export const ask = activity("ask", async (source: Source, { attempt, signal }) => {
  const ms = source.answersAfterMs[attempt - 1] ?? source.answersAfterMs.at(-1) ?? 0;
  await pause(ms, undefined, { signal });
  return `${source.name} answered at attempt ${attempt}`;
});

/** Each of three attempts may take 200 ms. */
export const patient = orchestration("patient", (ctx, source: Source) =>
  ctx.run(ask, source, { timeout: "200ms", retry: { maxAttempts: 3, backoff: { base: 10 } } }),
);

/** The whole call may take half a second, including waits and all attempts. */
export const strict = orchestration("strict", async (ctx, source: Source) => {
  try {
    return await ctx.run(ask, source, { scheduleToClose: "500ms", attempts: 100 });
  } catch (error) {
    if (error instanceof ActivityError && error.kind === "timeout") return `no ${source.name}`;
    throw error;
  }
});

/** A deadline for several calls together: only answers before the deadline count. */
export const bounded = orchestration("bounded", async (ctx, sources: readonly Source[]) => {
  const answers: string[] = [];
  await ctx.race({
    everything: () =>
      ctx.all(
        sources.map((source) => async () => {
          answers.push(await ctx.run(ask, source));
        }),
      ),
    deadline: ctx.sleep("1s"),
  });
  return answers;
});
