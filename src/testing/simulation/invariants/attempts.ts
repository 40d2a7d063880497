// Invariants 16, 19, 32 and 33: compares the runs in the ledger with the histories and the leases.
//   16. An attempt counts if its code ran and failed, or if its owner crashed. An outcome records exactly
//   this number, and code without a run has no outcome. 19. Code runs only with a lease, and once per
//   lease: every additional run has a reason. Every run also belongs to a recorded call: no effect precedes
//   its cause (I13). 32. A call whose outcome a rewind kept gets no further lease. 33. An idempotency key
//   has one input.

import type { HistoryEvent } from "../../../core/history/events.ts";
import { copiedUntil, keyOf } from "./copied.ts";
import type { Ledger, RunEntry } from "../ledger.ts";
import type { LeaseModel } from "./lease-model.ts";
import { taskKey, type TaskStory } from "./task-story.ts";

/** The final state of one execution. */
export interface EndedExecution {
  readonly id: string;
  readonly key: number;
  readonly execution: number;
  readonly events: readonly HistoryEvent[];
}

export function attemptFaults(
  executions: readonly EndedExecution[],
  ledger: Ledger,
  model: LeaseModel,
  /** How often the store lost commits, and when last. Earlier runs may belong to a history that was lost. */
  forgotten: { readonly times: number; readonly atMs: number },
): string[] {
  const found: string[] = [];
  const asked = new Set<string>();
  /** The leases of all tasks with one key: a call that a rewind does again keeps its key. */
  const leases = new Map<string, number>();
  for (const { id, key, execution, events } of executions) {
    const [started] = events;
    if (started?.kind !== "OrchestrationStarted") continue;
    const copied = copiedUntil(events, execution);
    for (const event of events) {
      if (event.kind !== "ActivityScheduled" && event.kind !== "StepScheduled") continue;
      const { sequence } = event;
      const call = keyOf(started, execution, event);
      asked.add(call);
      const runs = ledger.runsOf(call);
      const where = `${event.name} of ${id}#${execution}/${sequence}`;
      const story = model.stories.get(taskKey({ key, execution, sequence }));
      const outcome = events.find((each) => "attempts" in each && each.scheduled === sequence);
      const { grants = 0 } = story ?? {};
      leases.set(call, (leases.get(call) ?? 0) + grants);
      const isKept = started.rewound?.kept?.includes(sequence) ?? false;
      const isOver = isKept || (outcome !== undefined && outcome.sequence <= copied);
      if (sequence <= copied && isOver) {
        if (grants > 0) found.push(`32: ${where} was kept, but got ${grants} leases`);
        continue; // its attempts belong to an earlier execution
      }
      if (event.kind === "ActivityScheduled") {
        found.push(...activityFaults(where, runs, story, outcome));
      } else found.push(...stepFaults(where, runs, outcome));
    }
  }
  for (const [call, grants] of leases) {
    const runs = ledger.runsOf(call);
    const [first] = runs;
    if (first?.kind !== "activity") continue;
    const since = runs.filter(({ at }) => at > forgotten.atMs);
    // A lost lease may have had another key, and its run may begin just after the loss.
    if (since.length > grants + forgotten.times) {
      const where = `${first.name} of ${first.instance} (${call})`;
      found.push(`19: ${where} ran ${since.length} times under ${grants} leases`);
    }
    if (new Set(runs.map(({ input }) => input)).size > 1) {
      found.push(`33: ${first.name} of ${first.instance}: the key ${call} has two inputs`);
    }
  }
  for (const run of ledger.runs) {
    if (asked.has(run.key) || run.at <= forgotten.atMs) continue;
    found.push(
      `19: ${run.kind} ${run.name} of ${run.instance} ran, but no history contains its call`,
    );
  }
  return found;
}

function activityFaults(
  where: string,
  runs: readonly RunEntry[],
  story: TaskStory | undefined,
  outcome: HistoryEvent | undefined,
): string[] {
  const { retries = 0, deaths = 0 } = story ?? {};
  const found: string[] = [];
  if (runs.length < retries)
    found.push(`16: ${where} failed ${retries} times in ${runs.length} runs`);
  const failed = outcome?.kind === "ActivityFailed" ? outcome : null;
  const isDeadline = failed !== null && failed.attempts === 0;
  if (outcome === undefined || !("attempts" in outcome) || isDeadline) return found;
  const isPoison = failed?.failure.category === "poison";
  // The first crash counts; a further one counts only if the task ran alone (semantics 13).
  const own = retries + (isPoison ? 0 : 1);
  const least = own + Math.min(deaths, 1);
  const most = own + deaths + (story?.failedOutside.size ?? 0);
  if (outcome.attempts < least || outcome.attempts > most) {
    found.push(
      `16: ${where} records ${outcome.attempts} attempts, but ${retries} failed and ${deaths} crashed before`,
    );
  }
  const isCalled = story?.isCalled === true; // the call may have come before the end of its run
  const isOwnEnd = !isCalled && (failed === null || failed.failure.category === "application");
  if (!isPoison && isOwnEnd && !runs.some(({ end }) => end !== null || isTimeout(failed))) {
    found.push(`16: ${where} has an outcome, but no run of it ended`);
  }
  return found;
}

/** Whether the activity timed out: then its run need not have ended. */
function isTimeout(failed: Extract<HistoryEvent, { kind: "ActivityFailed" }> | null): boolean {
  return failed?.failure.kind === "timeout";
}

function stepFaults(
  where: string,
  runs: readonly RunEntry[],
  outcome: HistoryEvent | undefined,
): string[] {
  if (outcome?.kind !== "StepCompleted" && outcome?.kind !== "StepFailed") return [];
  if (runs.length === 0) return []; // this step does not record its runs in the ledger
  return runs.length >= outcome.attempts
    ? []
    : [`16: ${where} records ${outcome.attempts} attempts, but ran ${runs.length} times`];
}
