// The lost tail: a workload for a store that forgets its last commits (fault "forget"), and clients that know it may.
//   LT1. A client of such a store may find that a call which was acknowledged has left no trace. So the driver asks
//        again: it starts what is not there and sends what was not received, each under the same request id.
//   LT2. Whatever the store forgot, in the end every instance has completed with the result that was worked out: none
//        is stuck, blocked or failed.

import { activity, event, orchestration } from "../../core/definitions.ts";
import { isPerdureError, type PerdureError } from "../../core/errors.ts";
import type { Definition } from "../../core/registrable.ts";
import { FAULT_KINDS, type FaultKind } from "./faults.ts";
import type { SimulatedProcess } from "./machine.ts";
import { workloadOf, type Driving } from "./own-workload.ts";
import type { Workload } from "./workload.ts";

/** All but "poison": a task that ends its process fails its instance in the end, and none of these may fail. */
export const LOST_TAIL_FAULTS: readonly FaultKind[] = FAULT_KINDS.filter(
  (kind) => kind !== "poison",
);

const JOBS = 5;
const ROUNDS = 3;
/** Longer than faults go on. */
const LOOKS = 16;
const LOOK_UNITS = 2;

interface Progress {
  readonly round: number;
  readonly sum: number;
}

/** Jobs of activities, steps, timers, children, events and several executions, for the fault "forget". */
export function lostTail(): Workload<null> {
  return workloadOf({
    name: "lost tail",
    register,
    drive,
    longestMs: 0,
    async check({ client }) {
      for (const id of ids()) {
        const result = await client.get(id).result({ timeout: 0 });
        if (result !== EXPECTED) throw new Error(`${id} came to ${String(result)}`);
      }
    },
  });
}

/** Each round adds four: an activity, a step, a child's activity and an event. */
const EXPECTED = 4 * ROUNDS;

function register(process: SimulatedProcess): readonly Definition[] {
  const { unitMs } = process;
  const work = activity("work", async (value: number, { attempt }) => {
    await process.sleep(unitMs / 2);
    if (attempt === 1 && value % 2 === 0) throw new Error("the first attempt fails");
    return 1;
  });
  const child = orchestration("child", async (ctx, value: number) => {
    await ctx.sleep(unitMs);
    return ctx.run(work, value);
  });
  const job = orchestration("job", async (ctx, { round, sum }: Progress) => {
    const retry = { maxAttempts: 3 };
    const [first, second] = await ctx.all([
      ctx.run(work, round, { retry, session: `${ctx.info.instanceId} ${round}` }),
      ctx.call(child, 2 * round + 1),
    ]);
    const third = await ctx.step("step", async () => {
      await process.sleep(unitMs / 3);
      return 1;
    });
    const fourth = await ctx.event(event<number>(`go ${round}`));
    const total = sum + first + second + third + fourth;
    if (round === ROUNDS) return total;
    return ctx.continueAsNew({ round: round + 1, sum: total });
  });
  return [work, child, job];
}

function ids(): readonly string[] {
  return Array.from({ length: JOBS }, (_, index) => `job-${index + 1}`);
}

/** LT1 */
async function drive({ client, chance, unitMs, sleep }: Driving): Promise<void> {
  const pauses = ids().map(() => chance.below(LOOK_UNITS * unitMs));
  for (let look = 0; look < LOOKS; look++) {
    for (const [index, id] of ids().entries()) {
      if (look === 0) await sleep((pauses[index] ?? 0) / JOBS);
      const input: Progress = { round: 1, sum: 0 };
      const options = { id, requestId: `${id}.start`, onConflict: "useExisting" } as const;
      await patiently(() => client.start("job", input, options), sleep, unitMs);
      for (let round = 1; round <= ROUNDS; round++) {
        const requestId = `${id}.${round}`;
        await patiently(() => client.raise(id, `go ${round}`, 1, { requestId }), sleep, unitMs);
      }
    }
    await sleep(LOOK_UNITS * unitMs);
  }
}

/** What the store has just forgotten is not there; what has ended takes no more events. */
async function patiently(
  call: () => Promise<unknown>,
  sleep: Driving["sleep"],
  unitMs: number,
): Promise<void> {
  for (;;) {
    try {
      await call();
      return;
    } catch (error) {
      if (isPerdureError(error, "INSTANCE_FINISHED") || isPerdureError(error, "INSTANCE_NOT_FOUND"))
        return;
      if (!isPerdureError(error, "STORE_UNAVAILABLE")) throw error as PerdureError;
      await sleep(unitMs / 4);
    }
  }
}
