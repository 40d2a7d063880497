// Shadowing: decides which committed turns get a shadow replay.
//   - "auto" checks every turn up to 200 events of an execution, then one turn at each doubling of the
//     length. It spends at most 5 % of the event loop's time. Beyond that, turns are not checked.
//   - A difference found while the next turn runs is stored and blocks the instance after that turn.
//   - If the store is behind the run, the lease check compares the memory of this runtime with the store
//     (replay-check.1).

import type { Provider } from "../../core/provider/provider.ts";
import type { Run } from "../../core/replay/run.ts";
import type { HeldInstance } from "../instances/held-instance.ts";
import type { RuntimeContext } from "../context.ts";
import { shadowReplay } from "./replay-check.ts";

/** "auto" (the default, except in production): as many checks as cost little. */
export type ShadowReplay = "auto" | "always" | "never" | { readonly sample: number };

const EVERY_TURN_UNTIL = 200;
const SHARE_MAX = 0.05;
/** Time that may be spent before the share is enforced, so that short programs are checked too. */
const BURST_MS = 250;

export interface ShadowingContext extends Pick<
  RuntimeContext,
  "environment" | "pump" | "runOptions"
> {
  readonly options: { readonly shadowReplay: ShadowReplay };
  readonly provider: Pick<Provider, "readHistory">;
  readonly instances: Pick<RuntimeContext["instances"], "onShadowMismatch">;
  readonly leaseCheck: Pick<RuntimeContext["leaseCheck"], "alert">;
}

export class Shadowing {
  readonly #runtime: ShadowingContext;
  readonly #since: number;
  #spentMs = 0;

  constructor(runtime: ShadowingContext) {
    this.#runtime = runtime;
    this.#since = runtime.environment.monotonic();
  }

  /** Called after a commit that added this many events. */
  committed(held: HeldInstance, run: Run, turn: { execution: number; events: number }): void {
    if (!this.#isDue(run.lastSequence, turn.events)) return;
    const { environment, pump, runOptions, provider } = this.#runtime;
    const began = environment.monotonic();
    const { execution } = turn;
    shadowReplay({ held, run, execution, pump, runOptions, provider }, (reason) => {
      // This includes drains of other runs, so the measured time is an upper bound.
      this.#spentMs += environment.monotonic() - began;
      const { instances, leaseCheck } = this.#runtime;
      if (reason === "behind") {
        // The history of an execution that has ended may be deleted at any time.
        if (held.execution === execution) leaseCheck.alert();
      } else if (reason !== null) instances.onShadowMismatch(held, reason);
    });
  }

  #isDue(length: number, added: number): boolean {
    const { environment, options } = this.#runtime;
    const policy = options.shadowReplay;
    if (policy === "never") return false;
    if (policy === "always") return true;
    if (policy !== "auto") return environment.random() < policy.sample;
    if (length > EVERY_TURN_UNTIL && !passedDoubling(length - added, length)) return false;
    const elapsed = environment.monotonic() - this.#since;
    return this.#spentMs <= BURST_MS + elapsed * SHARE_MAX;
  }
}

/** Whether one of 400, 800, 1,600… lies between the two. */
function passedDoubling(before: number, after: number): boolean {
  let mark = EVERY_TURN_UNTIL * 2;
  while (mark <= before) mark *= 2;
  return after >= mark;
}
