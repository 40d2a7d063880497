// The definitions of the worker processes in this folder: well-behaved work, and work that is not.

import { activity, orchestration } from "../../../../src/index.ts";
import { say } from "./say.ts";

/** Waits for its event, does a little work, ends. */
const greet = activity("greet", (name: string) => `hello ${name}`);
export const neighbour = orchestration("neighbour", async (ctx, name: string) => {
  await ctx.waitFor("go");
  return ctx.run(greet, name);
});

/** Waits for its event, then queues microtasks forever. */
export const endless = orchestration("endless", async (ctx) => {
  await ctx.waitFor("spin");
  say("spinning", { instance: ctx.info.instanceId });
  for (;;) await Promise.resolve();
});

/** An activity that blocks the event loop for longer than the worker's stall time. */
const hog = activity("hog", (ms: number) => {
  const until = performance.now() + ms;
  while (performance.now() < until);
  return "done";
});
export const hogging = orchestration("hogging", async (ctx, ms: number) => ctx.run(hog, ms));

/** Ends its own process as soon as all bystanders of its first run are in flight. */
const bystandersAtWork = { entered: 0, waiting: null as (() => void) | null, wanted: Infinity };
const standBy = activity("stand by", async (_: number, { attempt }) => {
  bystandersAtWork.entered++;
  if (bystandersAtWork.entered >= bystandersAtWork.wanted) bystandersAtWork.waiting?.();
  // The first attempt waits until its process dies; later attempts return at once.
  if (attempt === 1) await new Promise(() => undefined);
  return attempt;
});
const kill = activity("kill", async ({ how, bystanders }: KillInput, { attempt }) => {
  say("killing", { attempt });
  if (attempt === 1 && bystandersAtWork.entered < bystanders) {
    bystandersAtWork.wanted = bystanders;
    await new Promise<void>((resolve) => (bystandersAtWork.waiting = resolve));
  }
  if (how === "exit") process.exit(7);
  process.kill(process.pid, "SIGKILL");
  await new Promise(() => undefined);
});
interface KillInput {
  readonly how: "exit" | "SIGKILL";
  readonly bystanders: number;
}
export const killer = orchestration("killer", async (ctx, input: KillInput) => {
  try {
    await ctx.run(kill, input);
    return "survived";
  } catch (error) {
    const { code, kind, attempts, message } = error as Record<string, unknown>;
    return { code, kind, attempts, message };
  }
});
export const bystander = orchestration("bystander", async (ctx, n: number) => ctx.run(standBy, n));

/** An activity that waits until its process ends. */
const patient = activity("patient", (): Promise<never> => {
  say("waiting");
  return new Promise(() => undefined);
});
export const waiting = orchestration("waiting", async (ctx) => ctx.run(patient));

/** One activity after the other, forever. */
const tick = activity("tick", (n: number) => n + 1);
export const hotLoop = orchestration("hot loop", async (ctx): Promise<never> => {
  for (let i = 0, n = 0; ; i++) {
    n = await ctx.run(tick, n);
    if (i === 0) say("looping", { instance: ctx.info.instanceId });
    if (i === 400) return ctx.continueAsNew(undefined);
  }
});

export const register = [
  neighbour,
  greet,
  endless,
  hogging,
  hog,
  killer,
  kill,
  bystander,
  standBy,
  waiting,
  patient,
  hotLoop,
  tick,
];
