// W14-resume: a reader begins at offset 100,000 of a live stream: milliseconds until it has the entry with that offset.
//   Many activities have written the stream, ten tokens at a time, so its entries are in small parts as after a long time.

import { strict as assert } from "node:assert";
import { activity, event, orchestration, type Handle } from "../../../src/index.ts";
import { timeMs, until } from "../../measure.ts";
import { RESUMED_AT, resumes, RESUME_WRITERS } from "../../sizes.ts";
import { median } from "../../statistics.ts";
import type { Run } from "../../subject.ts";
import { machineMs } from "../../tokens.ts";
import { assertUntroubled, withPerdure } from "../../support/open.ts";
import { tokens } from "../../support/token-streams.ts";

const TOKENS_AT_ONCE = 10;
/** What each activity writes: together a little more than RESUMED_AT. */
const FLUSHES = RESUMED_AT / RESUME_WRITERS / TOKENS_AT_ONCE + 1;
const TOTAL = RESUME_WRITERS * FLUSHES * TOKENS_AT_ONCE;

const go = event("go");
const write = activity("write", async (_: null, { stream }) => {
  await using out = stream(tokens);
  for (let flush = 0; flush < FLUSHES; flush++) {
    for (let i = 0; i < TOKENS_AT_ONCE; i++) await out.write({ text: "durable ", at: machineMs() });
    await out.flush();
  }
});
const long = orchestration("long", async (ctx) => {
  await Promise.all(Array.from({ length: RESUME_WRITERS }, () => ctx.run(write, null)));
  await ctx.waitFor(go);
  return TOTAL;
});

export const run: Run = (setting) =>
  withPerdure(setting, { register: [long, write] }, async (perdure) => {
    const handle = await perdure.client.start(long);
    const isWritten = async (): Promise<boolean> => (await handle.streams())[0]?.next === TOTAL;
    await until("the stream is written", isWritten, { everyMs: 50, timeoutMs: 300_000 });
    const { n, warmUp } = resumes(setting);
    for (let i = 0; i < warmUp; i++) await resume(handle);
    const each: number[] = [];
    for (let i = 0; i < n; i++) each.push(await timeMs(() => resume(handle)));
    await handle.raise(go);
    assert.equal(await handle.result(), TOTAL);
    await assertUntroubled(perdure, 1);
    return [{ metric: "resumeMs", value: median(each), n: RESUMED_AT }];
  });

async function resume(handle: Handle<number>): Promise<void> {
  const entries = handle.stream(tokens, { from: RESUMED_AT });
  const { value: entry } = await entries.next();
  await entries.return?.();
  assert(entry?.kind === "item" && entry.offset === RESUMED_AT, "the reader begins at its offset");
}
