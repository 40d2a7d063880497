// Replays beside the live run: to find the source line of a divergence, and to prove that a cold replay of what
// was committed asks for the same (shadow replay).
//   SH1. A shadow runs after the commit, on history alone (I15); its logs, effects and rejections go nowhere.
//   SH2. A difference blocks the instance with the diff.

import type { BlockReason } from "../core/block.ts";
import { isPerdureError } from "../core/errors.ts";
import type { HistoryRow } from "../core/history-row.ts";
import { Run } from "../core/run.ts";
import type { HeldInstance } from "./held-instance.ts";
import { makeRun, type MakeRunOptions } from "./make-run.ts";
import type { DrainJob, Pump } from "./pump.ts";

export type HistoryReader = (address: {
  key: number;
  execution: number;
}) => Promise<readonly HistoryRow[]>;

/** Replays a run's whole history and stops there. */
export class ReplayJob implements DrainJob {
  readonly run: Run;
  readonly label: string;
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
    this.#again = this.run.delivered > 0 && this.run.endDrain() === "again";
    if (this.#again || this.run.hasMoreHistory) return true;
    this.#done(this.run);
    return false;
  }
}

/** Replays once more with stacks, to say where the code asked for what history does not hold. */
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
  readonly runOptions: Pick<MakeRunOptions, "codec" | "guards" | "limits" | "readKeyValue">;
  readonly readHistory: HistoryReader;
}

/** Calls back with what differs, or null. */
export function shadowReplay(
  options: ShadowOptions,
  over: (difference: BlockReason | null) => void,
): void {
  const { run, execution, pump, runOptions, readHistory } = options;
  const held = { ...options.held }; // as it is now: the next execution may be of another version
  const expected = summary(run);
  const length = run.lastSequence;
  readHistory({ key: held.key, execution }).then(
    (rows) => {
      const committed = rows.filter((row) => row.last <= length);
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
        // The live run is sound, what is stored is not: better told now than when it is needed.
        const message = error instanceof Error ? error.message : String(error);
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
            message: `nondeterministic: a replay leaves ${found}, the live run had ${expected}.`,
          });
        }),
      );
    },
    () => over(null), // the store is not reachable: the next turn's shadow covers this one
  );
}

/** What must be equal after the same history: what is open, how it ended, what is unread. */
function summary(run: Run): string {
  const open = [...run.open.values()].map((task) => `${task.sequence}:${task.kind}:${task.name}`);
  const unread = run.mailbox.unread().map((message) => message.name);
  return JSON.stringify({ open, unread, ended: run.ended?.kind ?? null, at: run.at });
}
