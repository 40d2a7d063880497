// Provider stress test: runs many instances with several runtimes on one store, in real time.
//   - Every runtime has a separate provider, as a separate process would.
//   - The test checks correctness too: every instance has the right result, no call has two outcomes, no
//        ended instance has tasks.

import { Signer } from "../client/callbacks/signer.ts";
import { Client } from "../client/client.ts";
import { carryOutRepair } from "../client/repair/carry-out.ts";
import { activity, orchestration } from "../core/define/definitions.ts";
import { checkMembers, type Members } from "../core/checks.ts";
import type { Provider } from "../core/provider/provider.ts";
import { systemEnvironment } from "../core/time/system-environment.ts";
import { Runtime } from "../runtime/runtime.ts";
import { auditStore } from "./faults/audit.ts";

/** Options of `stressProvider`. */
export interface StressOptions {
  /** Opens the store. Called once per runtime and once for the client; the test closes every provider. */
  readonly open: () => Promise<Provider>;
  /** Runtimes that share the store. Default 3. */
  readonly dispatchers?: number;
  /** The number of instances, started concurrently. Default 100. */
  readonly instances?: number;
  /** Activities per instance: half of them in sequence, half concurrently. Default 10. */
  readonly activities?: number;
}
const STRESS_OPTIONS: Members<StressOptions> = {
  open: true,
  dispatchers: true,
  instances: true,
  activities: true,
};
/** The amount of work, its speed, and the problems found. */
export interface StressReport {
  readonly instances: number;
  readonly activities: number;
  readonly durationMs: number;
  readonly instancesPerSecond: number;
  readonly activitiesPerSecond: number;
  /** The number of activity runs of each runtime. */
  readonly shares: readonly number[];
  /** Activity runs minus activity calls; 0 without a crash. */
  readonly extraRuns: number;
  /** Descriptions of the problems; empty if the provider is correct. */
  readonly problems: readonly string[];
}

/** Runs several runtimes on one store, measures their throughput and checks the results. */
export async function stressProvider(options: StressOptions): Promise<StressReport> {
  checkMembers(options, STRESS_OPTIONS, "stressProvider");
  const { open, dispatchers = 3, instances = 100, activities = 10 } = options;
  const shares = Array.from({ length: dispatchers }, () => 0);
  const main = stressed(activities);
  const stores = [await open()];
  for (let i = 0; i < dispatchers; i++) stores.push(await open());
  const [first, ...others] = stores as [Provider, ...Provider[]]; // the array has at least one element
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
        carryOutRepair,
        makeSigner: (given, settings) => new Signer(given, settings),
        makeClient: (given, clientOptions) => new Client(given, clientOptions),
        threadEntry: new URL("data:text/javascript,"), // the activities run in this process
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

/** An orchestration that returns its input plus the number of its activities. */
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
    : [`instance ${input} returned ${result.value}; expected ${expected}`];
}
