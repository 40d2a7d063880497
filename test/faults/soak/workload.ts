// The instances of the soak: every kind of work, with payloads from 1 byte to 1 MB, and results that can be checked.

import { activity, event, orchestration, type Perdure } from "../../../src/index.ts";

const BYTES_MAX = 1_000_000;

interface Load {
  readonly bytes: number;
  readonly rounds: number;
}

/** Text of that many characters; the letter shows its origin. */
function payload(letter: string, bytes: number): string {
  return letter.repeat(bytes);
}

const produce = activity("produce", (bytes: number) => payload("a", bytes));
const note = event<string>("note");

const child = orchestration("child", async (ctx, text: string) => {
  const copy = await ctx.step("copy", () => text);
  return copy.length;
});

/** Ends with the number of characters that went through it in its last execution. */
const mixed = orchestration("mixed", async (ctx, load: Load): Promise<number> => {
  const [made, stepped] = await ctx.all([
    ctx.run(produce, load.bytes),
    ctx.step("compute", () => payload("s", load.bytes)),
  ]);
  const counted = await ctx.call(child, made);
  const received = load.rounds === 0 ? await ctx.waitFor(note) : "";
  await ctx.sleep(5);
  if (load.rounds > 0) return ctx.continueAsNew({ ...load, rounds: load.rounds - 1 });
  return made.length + stepped.length + counted + received.length;
});

export const SOAK_WORK = [produce, child, mixed];

/** Runs one instance. Returns a description of a wrong result, or null. */
export async function runMixed(perdure: Perdure, random: () => number): Promise<string | null> {
  // Evenly spread over the orders of magnitude.
  const bytes = Math.max(1, Math.floor(BYTES_MAX ** random()));
  const handle = await perdure.client.start(mixed, { bytes, rounds: Math.floor(random() * 3) });
  await handle.raise(note, payload("n", bytes));
  const result = await handle.result();
  if (result === 4 * bytes) return null;
  return `${handle.id}: expected ${4 * bytes}, got ${result}`;
}
