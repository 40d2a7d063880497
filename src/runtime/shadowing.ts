// Which committed turns are replayed beside the live run, and what a difference leads to.
//   SW1. "auto" replays the first 200 events of an execution at every turn and later at every doubling, and never
//        takes more than 5 % of the loop's time; while it has, turns go unchecked.
//   SW2. A difference found while the next turn runs is kept and blocks the instance after it.

import type { BlockReason } from "../core/block.ts";
import type { Environment } from "../core/environment.ts";
import type { Run } from "../core/run.ts";
import type { HeldInstance } from "./held-instance.ts";
import type { MakeRunOptions } from "./make-run.ts";
import type { Pump } from "./pump.ts";
import { shadowReplay, type HistoryReader } from "./replay-check.ts";

/** "auto": as much as costs little; the default, off in production. */
export type ShadowReplay = "auto" | "always" | "never" | { readonly sample: number };

const EVERY_TURN_UNTIL = 200;
const SHARE_MAX = 0.05;
/** What may be spent before the share is looked at, so that a short program is checked too. */
const BURST_MS = 250;

export interface ShadowingOptions {
  readonly policy: ShadowReplay;
  readonly environment: Environment;
  readonly pump: Pump;
  readonly runOptions: Pick<MakeRunOptions, "codec" | "guards" | "limits" | "readKeyValue">;
  readonly readHistory: HistoryReader;
  readonly differs: (held: HeldInstance, reason: BlockReason) => void;
}

export class Shadowing {
  readonly #o: ShadowingOptions;
  readonly #since: number;
  #spentMs = 0;

  constructor(options: ShadowingOptions) {
    this.#o = options;
    this.#since = options.environment.monotonic();
  }

  /** A turn was committed that added so many events. */
  committed(held: HeldInstance, run: Run, turn: { execution: number; events: number }): void {
    if (!this.#isDue(run.lastSequence, turn.events)) return;
    const { environment, pump, runOptions, readHistory, differs } = this.#o;
    const began = environment.monotonic();
    const { execution } = turn;
    shadowReplay({ held, run, execution, pump, runOptions, readHistory }, (reason) => {
      // Others' drains in between count too: the estimate errs on the safe side.
      this.#spentMs += environment.monotonic() - began;
      if (reason !== null) differs(held, reason);
    });
  }

  #isDue(length: number, added: number): boolean {
    const { policy, environment } = this.#o;
    if (policy === "never") return false;
    if (policy === "always") return true;
    if (policy !== "auto") return environment.random() < policy.sample;
    if (length > EVERY_TURN_UNTIL && !passedDoubling(length - added, length)) return false;
    const elapsed = environment.monotonic() - this.#since;
    return this.#spentMs <= BURST_MS + elapsed * SHARE_MAX;
  }
}

/** Whether 400, 800, 1,600… lies between the two. */
function passedDoubling(before: number, after: number): boolean {
  let mark = EVERY_TURN_UNTIL * 2;
  while (mark <= before) mark *= 2;
  return after >= mark;
}
