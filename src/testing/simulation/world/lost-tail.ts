// Lost tail: a workload for a store that loses its last commits (fault "forget").
//   - lost-tail.1: The store may lose a call that it has acknowledged. The driver therefore retries: it
//        starts missing instances and sends missing events again, each with the same request id.
//   - At the end every instance must have completed with the expected result. None may be stuck, blocked or
//        failed.

import type { Handle } from "../../../client/handle.ts";
import { activity, event, orchestration } from "../../../core/define/definitions.ts";
import { isPerdureError, type PerdureError } from "../../../core/errors/errors.ts";
import { stream } from "../../../core/define/stream.ts";
import type { Definition } from "../../../core/define/registrable.ts";
import { FAULT_KINDS, type FaultKind } from "./faults.ts";
import type { SimulatedProcess } from "./machine.ts";
import { workloadOf, type Driving } from "./own-workload.ts";
import type { Workload } from "./workload.ts";

/**
 * All faults except "poison": a poison task fails its instance, and no instance of this workload may fail.
 */
export const LOST_TAIL_FAULTS: readonly FaultKind[] = FAULT_KINDS.filter(
  (kind) => kind !== "poison",
);

const JOBS = 5;
const ROUNDS = 3;
/** The number of rounds of the driver; they take longer than the faults last. */
const LOOKS = 16;
const LOOK_UNITS = 2;

interface Progress {
  readonly round: number;
  readonly sum: number;
}

/** A workload for the fault "forget": activities, steps, timers, children, events and several executions. */
export function lostTail(): Workload<null> {
  return workloadOf({
    name: "lost tail",
    register,
    drive,
    longestMs: 0,
    async check({ client }) {
      for (const id of ids()) {
        const result = await client.get(id).result({ timeout: 0 });
        if (result !== EXPECTED)
          throw new Error(`${id} returned ${String(result)}; expected ${EXPECTED}`);
        await checkTold(client.get(id));
      }
    },
  });
}

/**
 * An attempt whose values the store has lost cannot continue its stream: its next append fails, or its completion loses
 * the lease. The number of attempts must be larger than the number of such losses.
 */
const TELLS_MAX = 30;
const TOLD = stream<string>("told");
const PARTS = ["a", "b", "c"] as const;

/** Each value is in the stream once: those of the orchestration before those of the activity, round by round. */
async function checkTold(handle: Handle): Promise<void> {
  const expected = Array.from({ length: ROUNDS }, (_, index) =>
    ["", ...PARTS].map((part) => `${index + 1}${part}`),
  ).flat();
  let next = 0;
  let shown: { readonly call: number; readonly offset: number; readonly value: string }[] = [];
  for await (const entry of handle.stream(TOLD)) {
    if (entry.kind === "end") break;
    if (entry.offset !== next++)
      throw new Error(`${handle.id}: offset ${entry.offset} must be ${next - 1}`);
    if (entry.kind === "item") shown.push(entry);
    else shown = shown.filter(({ call, offset }) => call !== entry.call || offset < entry.from);
  }
  const settled: string[] = [];
  for await (const entry of handle.stream(TOLD, { settled: true }))
    if (entry.kind === "item") settled.push(entry.value);
  for (const values of [shown.map(({ value }) => value), settled]) {
    if (values.join() !== expected.join())
      throw new Error(`${handle.id} shows ${values.join()}; expected ${expected.join()}`);
  }
}

/** Each round adds four: one for an activity, a step, an activity of a child, and an event. */
const EXPECTED = 4 * ROUNDS;

function register(process: SimulatedProcess): readonly Definition[] {
  const { unitMs } = process;
  const work = activity("work", async (value: number, { attempt }) => {
    await process.sleep(unitMs / 2);
    if (attempt === 1 && value % 2 === 0) throw new Error("the first attempt fails");
    return 1;
  });
  const tell = activity("tell", async (round: number, { attempt, stream: open }) => {
    const out = open(TOLD);
    for (const part of PARTS) {
      await out.write(`${round}${part}`);
      await process.sleep(unitMs / 4);
    }
    if (attempt === 1 && round === 2) throw new Error("the first attempt fails");
  });
  const child = orchestration("child", async (ctx, value: number) => {
    await ctx.sleep(unitMs);
    return ctx.run(work, value);
  });
  const job = orchestration("job", async (ctx, { round, sum }: Progress) => {
    const retry = { maxAttempts: 3 };
    ctx.stream(TOLD).write(`${round}`);
    await ctx.run(tell, round, { retry: { maxAttempts: TELLS_MAX } });
    const [first, second] = await ctx.all([
      ctx.run(work, round, { retry, session: `${ctx.info.instanceId} ${round}` }),
      ctx.call(child, 2 * round + 1),
    ]);
    const third = await ctx.step("step", async () => {
      await process.sleep(unitMs / 3);
      return 1;
    });
    const fourth = await ctx.waitFor(event<number>(`go ${round}`));
    const total = sum + first + second + third + fourth;
    if (round === ROUNDS) return total;
    return ctx.continueAsNew({ round: round + 1, sum: total });
  });
  return [work, tell, child, job];
}

function ids(): readonly string[] {
  return Array.from({ length: JOBS }, (_, index) => `job-${index + 1}`);
}

/** lost-tail.1 */
async function drive({ client, random, unitMs, sleep }: Driving): Promise<void> {
  const pauses = ids().map(() => random.below(LOOK_UNITS * unitMs));
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

/** Retries an unavailable store. Ignores that an instance has ended, or that the store has lost it. */
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
