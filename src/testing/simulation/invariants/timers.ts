// Invariant 10: the store delivers no timer before the store's clock has first reached the due time of the
// timer. The retries of a step share one sequence number but have different times. The check remembers all
// of them.

import type { CommitResult } from "../../../core/provider/commit.ts";
import type { Message } from "../../../core/provider/messages.ts";
import type { Carried } from "../calls.ts";
import type { Ledger } from "../ledger.ts";
import type { EndedExecution } from "./attempts.ts";

/** The maximum error of a process's copy of the store's clock. */
const COPY_ERROR_MS = 10;

/** Returns the attempts of steps that began before the backoff after the previous attempt had ended. */
export function earlyAttempts(executions: readonly EndedExecution[], ledger: Ledger): string[] {
  return executions.flatMap(({ id, execution, events }) => {
    const [started] = events;
    if (started?.kind !== "OrchestrationStarted") return [];
    return events.flatMap((event) => {
      if (event.kind !== "StepAttemptFailed") return [];
      const { scheduled, attempt, due } = event;
      const runs = ledger.runsOf(`${started.runId}:${execution}:${scheduled}`);
      const early = runs.filter(
        (run) => run.attempt === attempt + 1 && run.storeAt < due - COPY_ERROR_MS,
      );
      return early.map(
        ({ storeAt }) => `step ${id}#${execution}/${scheduled} ran ${due - storeAt} ms early`,
      );
    });
  });
}

export class DueTimes {
  readonly #due = new Map<string, Set<number>>();
  /** The latest time of the store's clock so far. The clock may go back; a due timer stays due. */
  #latest = -Infinity;

  see(call: Carried): string[] {
    this.#latest = Math.max(this.#latest, call.now);
    switch (call.method) {
      case "commit":
        this.#note(call.args[0], call.result, call.now);
        return call.result.flatMap((result, i) => {
          const item = call.args[0][i];
          return item?.kind === "turn" ? this.#handed(item.key, dueOf(result)) : [];
        });
      case "leaseInstances":
        return call.result.instances.flatMap(({ key, messages }) => this.#handed(key, messages));
      case "takeMessages":
        return [...call.result].flatMap(([key, messages]) => this.#handed(key, messages));
      default:
        return [];
    }
  }

  #note(
    items: Extract<Carried, { method: "commit" }>["args"][0],
    results: readonly CommitResult[],
    now: number,
  ): void {
    for (const [i, item] of items.entries()) {
      if (item.kind !== "turn" || results[i]?.kind !== "committed") continue;
      for (const { kind, sequence, delayMs, dueAt } of item.timers) {
        const due = Math.ceil(dueAt ?? now + (delayMs ?? 0));
        const name = `${item.key}:${item.execution}:${kind}:${sequence}`;
        this.#due.set(name, (this.#due.get(name) ?? new Set()).add(due));
      }
    }
  }

  #handed(key: number, messages: readonly Message[]): string[] {
    return messages.flatMap(({ kind, execution, sequence, visibleAt }) => {
      const due = this.#due.get(`${key}:${execution}:${kind}:${sequence}`);
      if (due === undefined) return [];
      const what = `${kind} ${sequence} of instance ${key}`;
      if (!due.has(visibleAt)) return [`${what} is due at ${visibleAt}, not at ${[...due].join()}`];
      const early = visibleAt - this.#latest;
      return early > 0 ? [`${what} was delivered ${early} ms early`] : [];
    });
  }
}

function dueOf(result: CommitResult): readonly Message[] {
  return result.kind === "committed" ? result.due : [];
}
