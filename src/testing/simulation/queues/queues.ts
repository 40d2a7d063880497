// Queued jobs: a workload of jobs under rules and limits, which clients enqueue and orchestrations call.

import { orchestration } from "../../../core/define/definitions.ts";
import { job } from "../../../core/define/job.ts";
import type { QueueOptions } from "../../../core/define/queue-settings.ts";
import type { QueueRule } from "../../../core/provider/queues.ts";
import { DEFAULT_FAULTS, type FaultKind } from "../world/faults.ts";
import type { SimulatedProcess } from "../world/machine.ts";
import type { Hand, Workload } from "../world/workload.ts";
import { checkQueues } from "./check.ts";
import { ClientScript } from "./client-script.ts";
import { drawQueues } from "./draw.ts";
import { MadeCalls } from "./made-calls.ts";
import {
  callsOf,
  smallerPlans,
  type JobInput,
  type PlannedCall,
  type PlannedQueue,
  type QueuesPlan,
} from "./plan.ts";

/** All faults except "poison": an activity that fails as poison fails its job, and the plan does not expect that. */
export const QUEUE_FAULTS: readonly FaultKind[] = DEFAULT_FAULTS.filter(
  (kind) => kind !== "poison",
);

/** A workload of jobs under rules and limits, with known results. Perdure is tested with it. */
export function queues(): Workload<QueuesPlan> {
  return {
    name: "queues",
    plan: drawQueues,
    smaller: smallerPlans,
    begin({ plan, unitMs, faults }) {
      const calls = new MadeCalls();
      const scripts = plan.clients.map((client) => {
        const definitions = new Map(plan.queues.map((queue) => [queue.name, jobOf(queue, null)]));
        return new ClientScript(client, calls, (name) => {
          const found = definitions.get(name);
          if (found === undefined) throw new Error(`The plan has no queue "${name}".`);
          return found;
        });
      });
      return {
        scripts: scripts.map((script, index) => ({
          name: `client ${index + 1}`,
          slot: plan.clients[index]?.slot ?? 0,
          run: (hand: Hand) => script.run(hand),
        })),
        register: (process) => {
          const jobs = plan.queues.map((queue) => jobOf(queue, process));
          const caller = orchestration("caller", (ctx, planned: readonly PlannedCall[]) =>
            ctx.all(
              planned.map(({ queue, key, ...input }) => {
                const called = jobs.find(({ name }) => name === queue);
                if (called === undefined) throw new Error(`The plan has no queue "${queue}".`);
                return ctx.run(called, input, { key }).catch(() => "failed");
              }),
            ),
          );
          return [...jobs, caller];
        },
        longestMs: longestMs(plan, unitMs),
        check(end) {
          checkQueues(plan, calls, { end, mayJump: faults.kinds.includes("clock") });
        },
      };
    },
  };
}

/** `process` null: a definition for clients, which never runs. */
function jobOf(queue: PlannedQueue, process: SimulatedProcess | null) {
  const { name, rule, attempts } = queue;
  const run = async ({ value, ms, fails }: JobInput, { attempt }: { attempt: number }) => {
    await process?.sleep(ms);
    if (attempt <= fails) throw new Error(`${value} fails in attempt ${attempt}`);
    return value;
  };
  const backoff = { kind: "fixed", base: 100 } as const;
  const retry = { maxAttempts: attempts, backoff };
  return job(name, run, { retry, ...(rule === null ? {} : optionsOf(rule)) });
}

function optionsOf({ fair, concurrency, perKey, rate }: QueueRule): QueueOptions {
  const limit = {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(perKey === undefined ? {} : { perKey }),
    ...(rate === undefined ? {} : { rate: { count: rate.count, per: rate.perMs } }),
  };
  return {
    ...(Object.keys(limit).length === 0 ? {} : { limit }),
    ...(fair === undefined ? {} : { fair: { weight: (key) => (key === "b" ? 2.5 : 1) } }),
  };
}

/** The time of the plan if all its jobs run one after another. */
function longestMs(plan: QueuesPlan, unitMs: number): number {
  const rates = new Map(plan.queues.map(({ name, rule }) => [name, rule?.rate?.perMs ?? 0]));
  const jobs = callsOf(plan).map(({ queue, ms }) => 5 * (ms + unitMs + (rates.get(queue) ?? 0)));
  const waits = plan.clients.flatMap(({ steps }) =>
    steps.map((step) => {
      if (step.kind !== "enqueue") return step.kind === "resumeQueue" ? step.atMs : 0;
      const { rule, delayMs } = step;
      const heldMs =
        rule?.kind === "debounce" ? rule.waitMs : rule?.kind === "throttle" ? rule.perMs : 0;
      return delayMs + heldMs + (step.cancelAfterMs ?? 0);
    }),
  );
  return [...jobs, ...waits].reduce((sum, ms) => sum + ms, 0);
}
