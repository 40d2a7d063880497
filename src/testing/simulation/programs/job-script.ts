// Job script: the calls of a job's client. After a crash the next process continues the script.
//   - Every call has a unique request id, so that the next process can repeat a call safely.
//   - Acknowledged calls are in the ledger and are not repeated.

import { isPerdureError } from "../../../core/errors/errors.ts";
import { OrchestrationError } from "../../../core/errors/outcome-errors.ts";
import type { Hand } from "../world/workload.ts";
import { largeText } from "./expected.ts";
import { KILLER } from "./interpreter.ts";
import { isServer, type Control, type Job } from "./jobs.ts";
import { killsIn } from "./killers.ts";
import { askServer, ROOT } from "./requests.ts";

type Raise = Extract<Control, { kind: "raise" }>;

function dataOf({ value, bytes }: Raise): unknown {
  return bytes === undefined ? value : largeText(value, bytes);
}

export class JobScript {
  readonly #job: Job;
  readonly #orchestration: string;
  /** The number of acknowledged calls. */
  #done = 0;
  /** Kinds of calls that the store refused because the instance had ended. */
  readonly refused = new Set<Control["kind"]>();

  constructor(job: Job) {
    this.#job = job;
    this.#orchestration = killsIn(job).length > 0 ? KILLER : ROOT;
  }

  async run(hand: Hand): Promise<void> {
    const { controls, startsTwice, awaits, restarts, startAtMs } = this.#job;
    const { kept, started } = this.#ahead;
    const calls = [
      ...kept.map((raise) => ({ atMs: 0, call: () => this.#raise(hand, raise, "keep") })),
      { atMs: startAtMs, call: () => this.#start(hand) },
      ...(startsTwice === null ? [] : [{ atMs: 0, call: () => this.#startAgain(hand) }]),
      ...controls.flatMap((control) => {
        if (control.kind === "raise" && (kept.includes(control) || started.includes(control)))
          return [];
        const atMs = Math.max(control.atMs, startAtMs);
        return [{ atMs, call: () => this.#control(hand, control) }];
      }),
      ...(awaits ? [{ atMs: 0, call: () => this.#await(hand) }] : []),
      ...(restarts ? [{ atMs: 0, call: () => this.#restart(hand) }] : []),
    ];
    for (const { atMs, call } of calls.slice(this.#done)) {
      const waitMs = atMs - hand.elapsedMs();
      if (waitMs > 0) await hand.process.sleep(waitMs);
      await call();
      this.#done++;
    }
  }

  /** The events that are sent before the instance exists (`kept`), or with its start (`started`). */
  get #ahead(): { readonly kept: readonly Raise[]; readonly started: readonly Raise[] } {
    const { ahead, controls } = this.#job;
    const raises = controls.filter((control) => control.kind === "raise");
    const first = raises.slice(0, ahead?.count ?? 0);
    return ahead?.how === "kept" ? { kept: first, started: [] } : { kept: [], started: first };
  }

  async #start(hand: Hand): Promise<void> {
    const { id, input, delayMs, priority, version } = this.#job;
    await hand.client.start(this.#orchestration, input, {
      id,
      priority,
      requestId: `${id}.start`,
      context: { job: id },
      events: this.#ahead.started.map((raise) => ({ name: raise.name, data: dataOf(raise) })),
      ...(version === null ? {} : { version }),
      ...(delayMs === null ? {} : { delay: delayMs }),
      ...(isServer(this.#job) ? { onConflict: "useExisting" } : {}),
    });
    hand.ledger.acknowledge({ kind: "start", id, request: `${id}.start`, at: hand.elapsedMs() });
  }

  /** A second start must return the existing instance, or fail with INSTANCE_EXISTS. */
  async #startAgain(hand: Hand): Promise<void> {
    const { id, input, startsTwice } = this.#job;
    if (startsTwice === "useExisting") {
      await hand.client.start(this.#orchestration, input, { id, onConflict: "useExisting" });
      return;
    }
    const code = await hand.client.start(this.#orchestration, input, { id }).then(
      () => null,
      (error: unknown) => (isPerdureError(error) ? error.code : String(error)),
    );
    if (code !== "INSTANCE_EXISTS")
      throw new Error(`A second start of ${id} must fail with INSTANCE_EXISTS; got ${code}.`);
  }

  async #control(hand: Hand, control: Control): Promise<void> {
    const { id } = this.#job;
    const handle = hand.client.get(id);
    try {
      if (control.kind === "raise") return await this.#raise(hand, control, "fail");
      if (control.kind === "ask") return await askServer(hand, id, control.request);
      if (control.kind === "cancel") await handle.cancel("the job says so");
      else await handle[control.kind]();
    } catch (error) {
      // The instance may have ended earlier. The check of its result decides whether that is right.
      if (!isPerdureError(error, "INSTANCE_FINISHED")) throw error;
      this.refused.add(control.kind);
      return;
    }
    hand.ledger.acknowledge({ kind: control.kind, id, request: null, at: hand.elapsedMs() });
  }

  async #raise(hand: Hand, raise: Raise, ifMissing: "fail" | "keep"): Promise<void> {
    const { id } = this.#job;
    const { name, value } = raise;
    const requestId = `${name}.${value}`;
    const data = dataOf(raise);
    await hand.client.raise(id, name, data, { requestId, ifMissing });
    hand.ledger.acknowledge({ kind: "raise", id, request: requestId, at: hand.elapsedMs() });
    // A repetition with the same request id must not send a second event.
    if (value % 2 === 1) await hand.client.raise(id, name, data, { requestId, ifMissing });
  }

  async #await(hand: Hand): Promise<void> {
    try {
      await hand.client.get(this.#job.id).result();
    } catch (error) {
      if (!(error instanceof OrchestrationError)) throw error;
    }
  }

  /** Waits for the end, then restarts the instance. A repetition of the call finds it restarted. */
  async #restart(hand: Hand): Promise<void> {
    const { id } = this.#job;
    for (;;) {
      const { status, execution } = await hand.client.get(id).describe();
      if (execution > this.#job.input.rounds.length) return;
      const isOver = status === "completed" || status === "failed";
      if (isOver) break;
      await hand.process.sleep(10_000);
    }
    for (;;) {
      try {
        await hand.client.get(id).restart();
        break;
      } catch (error) {
        // The input is in the history: while the history is damaged, a restart fails.
        if (!isPerdureError(error, "HISTORY_CORRUPT")) throw error;
        await hand.process.sleep(10_000);
      }
    }
    hand.ledger.acknowledge({ kind: "restart", id, request: null, at: hand.elapsedMs() });
  }
}
