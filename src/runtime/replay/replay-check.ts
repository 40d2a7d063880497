// Additional replays: one finds the source line of a divergence, one proves that a cold replay of the
// committed history makes the same requests (shadow replay).
//   - A shadow replay runs after the commit and uses only history (I15). Its logs, effects and rejections
//     are discarded.
//   - A difference blocks the instance. The reason contains both sides.
//   - replay-check.1: Fewer committed events than the run has are not a difference of the code: the store has lost its
//     last commits, or retention has deleted the execution. Nothing is compared then.

import type { BlockReason } from "../../core/history/block.ts";
import { isPerdureError, errorMessage } from "../../core/errors/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import { Run } from "../../core/replay/run.ts";
import type { HeldInstance } from "../instances/held-instance.ts";
import { makeRun, type RunOptions } from "./make-run.ts";
import type { DrainJob, Pump } from "./pump.ts";

/** Replays a run's whole history and stops there. */
export class ReplayJob implements DrainJob {
  readonly run: Run;
  readonly label: string;
  readonly name = ""; // replays of all orchestrations share a lane
  readonly isLarge = false;
  readonly #done: (run: Run) => void;
  #again = false;

  constructor(run: Run, label: string, done: (run: Run) => void) {
    this.run = run;
    this.label = label;
    this.#done = done;
  }
  get certain(): number {
    return this.run.historyLeft;
  }
  step(): void {
    if (this.#again) this.run.lateRejection();
    else if (this.run.hasMoreHistory) this.run.replayNext();
  }
  after(): boolean {
    this.#again = this.run.deliveredSequence > 0 && this.run.endDrain() === "again";
    if (this.#again || this.run.hasMoreHistory) return true;
    this.#done(this.run);
    return false;
  }
}

/** Replays again with stack traces, to find the source line where the code diverged from history. */
export function captureSource(
  diverged: Run,
  pump: Pump,
  found: (reason: BlockReason | null) => void,
): void {
  const run = new Run({
    ...diverged.options,
    captureSources: true,
    isShadow: true,
    onMisuse: () => undefined,
  });
  pump.add(new ReplayJob(run, run.instanceId, (replayed) => found(replayed.blocked)));
}

export interface ShadowOptions {
  readonly held: HeldInstance;
  readonly run: Run;
  readonly execution: number;
  readonly pump: Pump;
  readonly runOptions: RunOptions;
  readonly provider: Pick<Provider, "readHistory">;
}

/**
 * Calls `over` with the difference, or with null if there is none. "behind": the store has fewer events of the
 * execution than the run (replay-check.1).
 */
export function shadowReplay(
  options: ShadowOptions,
  over: (difference: BlockReason | "behind" | null) => void,
): void {
  const { run, execution, pump, runOptions, provider } = options;
  const held = { ...options.held }; // a copy: the next execution may have another version
  const expected = summary(run);
  const length = run.lastSequence;
  provider.readHistory({ key: held.key, execution }).then(
    (rows) => {
      const committed = rows.filter((row) => row.last <= length);
      if ((committed.at(-1)?.last ?? 0) < length) return over("behind");
      let shadow: Run;
      try {
        shadow = makeRun(held, {
          ...runOptions,
          rows: committed,
          execution,
          isShadow: true,
          onMisuse: () => undefined,
        });
      } catch (error) {
        // The live run is fine, but the stored history is not. Block now, before the history is needed.
        const message = errorMessage(error);
        const code = isPerdureError(error, "KEY_MISSING") ? "KEY_MISSING" : "HISTORY_CORRUPT";
        return over({ code, message });
      }
      pump.add(
        new ReplayJob(shadow, held.id, (replayed) => {
          if (replayed.blocked !== null) return over(replayed.blocked);
          const found = summary(replayed);
          if (found === expected) return over(null);
          over({
            code: "NONDETERMINISM",
            message: `nondeterministic: a replay ends with ${found}, the live run with ${expected}.`,
          });
        }),
      );
    },
    () => over(null), // the store is unreachable: the shadow replay of the next turn covers this turn too
  );
}

/** The state that must be equal after the same history: open calls, how the run ended, unread events. */
function summary(run: Run): string {
  const open = [...run.openTasks.values()].map(
    (task) => `${task.sequence}:${task.kind}:${task.name}`,
  );
  const unread = run.mailbox.unread().map((message) => message.name);
  return JSON.stringify({ open, unread, ended: run.ended?.kind ?? null, at: run.eventTime });
}
