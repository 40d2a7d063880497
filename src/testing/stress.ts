// A stress program for providers: several runtimes on one store, in real time; what comes of it is counted.
//   ST1. Every runtime is a dispatcher on a provider of its own, as another process would open it.
//   ST2. It is judged, not only timed: every instance has its result, no call has two outcomes, nothing is left.

import { Client } from "../client/client.ts";
import { activity, orchestration } from "../core/definitions.ts";
import { checkMembers, type Members } from "../core/known-members.ts";
import type { Provider } from "../core/provider/provider.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import { Runtime } from "../runtime/runtime.ts";
import { auditStore } from "./faults/audit.ts";

/** How much is asked of a provider. */
export interface StressOptions {
  /** Opens the store once more; all of them are closed in the end. */
  readonly open: () => Promise<Provider>;
  /** Runtimes that share the store. Default 3. */
  readonly dispatchers?: number;
  /** Instances started at once. Default 100. */
  readonly instances?: number;
  /** Activities of each: half of them one after the other, half at once. Default 10. */
  readonly activities?: number;
}
const STRESS_OPTIONS: Members<StressOptions> = {
  open: true,
  dispatchers: true,
  instances: true,
  activities: true,
};
/** What was done, how fast, and what is wrong. */
export interface StressReport {
  readonly instances: number;
  readonly activities: number;
  readonly durationMs: number;
  readonly instancesPerSecond: number;
  readonly activitiesPerSecond: number;
  /** How many activities each runtime has run. */
  readonly shares: readonly number[];
  /** Runs more than there were calls; without a crash there are none. */
  readonly extraRuns: number;
  /** In sentences; none: the provider kept its promises. */
  readonly problems: readonly string[];
}

/** Several runtimes at work on one store; counts what they did and checks that it is right. */
export async function stressProvider(options: StressOptions): Promise<StressReport> {
  checkMembers(options, STRESS_OPTIONS, "stressProvider");
  const { open, dispatchers = 3, instances = 100, activities = 10 } = options;
  const shares = Array.from({ length: dispatchers }, () => 0);
  const main = stressed(activities);
  const stores = [await open()];
  for (let i = 0; i < dispatchers; i++) stores.push(await open());
  const [first, ...others] = stores as [Provider, ...Provider[]]; // one was opened before the others
  const runtimes = others.map((provider, index) => {
    const work = activity("stress.work", (value: number) => {
      shares[index] = (shares[index] ?? 0) + 1;
      return value + 1;
    });
    const register = [main, work];
    return new Runtime(
      provider,
      { register, log: () => undefined },
      {
        makeClient: (given, clientOptions) => new Client(given, clientOptions),
        threadEntry: new URL("data:text/javascript,"), // its activities run in this process
      },
    );
  });
  try {
    for (const runtime of runtimes) await runtime.start();
    const since = systemEnvironment.monotonic();
    const client = new Client(first);
    const ids = Array.from({ length: instances }, (_, index) => `stress-${index}`);
    const handles = await Promise.all(ids.map((id, input) => client.start(main, input, { id })));
    const results = await Promise.allSettled(handles.map((handle) => handle.result()));
    const durationMs = systemEnvironment.monotonic() - since;
    for (const runtime of runtimes) await runtime.shutdown();
    const wrong = results.flatMap((result, input) => wrongResult(result, input, activities));
    const audit = await auditStore(first, client.codec);
    const calls = instances * activities;
    return {
      instances,
      activities: calls,
      durationMs,
      instancesPerSecond: (instances * 1_000) / durationMs,
      activitiesPerSecond: (calls * 1_000) / durationMs,
      shares,
      extraRuns: shares.reduce((a, b) => a + b, 0) - calls,
      problems: [...wrong, ...audit.faults],
    };
  } finally {
    for (const runtime of runtimes) await runtime.shutdown();
    for (const store of stores) await store.close();
  }
}

/** Adds one for every activity. */
function stressed(activities: number) {
  const inTurn = Math.ceil(activities / 2);
  return orchestration("stress.main", async (ctx, start: number): Promise<number> => {
    let value = start;
    for (let i = 0; i < inTurn; i++) value = Number(await ctx.run("stress.work", value));
    const atOnce = Array.from({ length: activities - inTurn }, () => ctx.run("stress.work", 0));
    for (const one of await ctx.all(atOnce)) value += Number(one);
    return value;
  });
}

function wrongResult(
  result: PromiseSettledResult<number>,
  input: number,
  activities: number,
): string[] {
  if (result.status === "rejected") return [`instance ${input} failed: ${String(result.reason)}`];
  const expected = input + activities;
  return result.value === expected
    ? []
    : [`instance ${input} gave ${result.value}, not ${expected}`];
}
