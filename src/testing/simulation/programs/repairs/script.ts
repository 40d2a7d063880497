// The operator of a repair job: starts it, raises its events, ends it once from outside, and rewinds it whenever it has
// ended without a result, until it completes.
//   - An execution that ended before its code ran has no past. The operator restarts it or, because a restart empties the
//        inbox, gives up an instance that waits for events.
//   - Each rewind has a request id made from the execution, so that a repetition after a crash repairs once.

import { isPerdureError, type ErrorCode } from "../../../../core/errors/errors.ts";
import type { Hand } from "../../world/workload.ts";
import { REPAIRED } from "./code.ts";
import type { RepairJob, RepairRaise } from "./plan.ts";

/**
 * A call that may succeed later: the store or the worker is down, a row is damaged, another instance of the tree still
 * ends, or no worker is up.
 */
const LATER: readonly ErrorCode[] = [
  ...(["STORE_UNAVAILABLE", "HISTORY_CORRUPT", "INSTANCE_RUNNING"] as const),
  ...(["NOT_REGISTERED", "TIMEOUT", "PARENT_INFORMED"] as const),
];

export class RepairScript {
  readonly #job: RepairJob;
  #done = 0;
  /** The instances that could not be repaired. */
  readonly givenUp = new Set<string>();

  constructor(job: RepairJob) {
    this.#job = job;
  }

  get forkId(): string {
    return `${this.#job.id}.fork`;
  }

  async run(hand: Hand): Promise<void> {
    const { id, raises, stop, forks } = this.#job;
    const calls = [
      () => this.#start(hand),
      ...raises.map((raise) => () => this.#raise(hand, raise)),
      ...(stop === null ? [] : [() => this.#stop(hand, stop)]),
      ...(forks ? [() => this.#fork(hand)] : []),
      () => this.#repair(hand, id),
      ...(forks ? [() => this.#repair(hand, this.forkId)] : []),
    ];
    for (const call of calls.slice(this.#done)) {
      await call();
      this.#done++;
    }
  }

  async #start({ client, process, elapsedMs, ledger }: Hand): Promise<void> {
    const { id, input, startAtMs } = this.#job;
    const waitMs = startAtMs - elapsedMs();
    if (waitMs > 0) await process.sleep(waitMs);
    await client.start(REPAIRED, input, { id, requestId: `${id}.start` });
    ledger.acknowledge({ kind: "start", id, request: `${id}.start`, at: elapsedMs() });
  }

  async #raise(hand: Hand, { name, value, atMs }: RepairRaise): Promise<void> {
    const { id } = this.#job;
    const waitMs = atMs - hand.elapsedMs();
    if (waitMs > 0) await hand.process.sleep(waitMs);
    const requestId = `${name}.${value}`;
    while (!this.givenUp.has(id)) {
      try {
        await hand.client.raise(id, name, value, { requestId });
        hand.ledger.acknowledge({ kind: "raise", id, request: requestId, at: hand.elapsedMs() });
        return;
      } catch (error) {
        if (!isPerdureError(error, "INSTANCE_FINISHED")) throw error;
        await this.#look(hand, id); // an ended instance accepts no events
      }
    }
  }

  async #stop(
    { client, process, elapsedMs }: Hand,
    { kind, atMs }: NonNullable<RepairJob["stop"]>,
  ): Promise<void> {
    const waitMs = atMs - elapsedMs();
    if (waitMs > 0) await process.sleep(waitMs);
    try {
      await client.get(this.#job.id)[kind]("the operator says so");
    } catch (error) {
      if (!isPerdureError(error, "INSTANCE_FINISHED")) throw error;
    }
  }

  /** Copies the whole newest execution, without its end. A call that timed out may have made the fork. */
  async #fork(hand: Hand): Promise<void> {
    const { client, process } = hand;
    const { id } = this.#job;
    for (;;) {
      try {
        if ((await client.count({ idPrefix: this.forkId })) > 0) return;
        const events = await client.get(id).history();
        if (events.length > 1) {
          const before = Math.max(2, events.at(-1)?.sequence ?? 2);
          await client.fork(id, { before, id: this.forkId, reason: "a try" });
          return;
        }
      } catch (error) {
        if (isPerdureError(error, "INSTANCE_EXISTS")) return; // by a process that crashed
        if (hasNoPast(error)) await this.#look(hand, id);
        else if (!isLater(error) && !isBehindEnd(error)) throw error;
      }
      await process.sleep(process.unitMs);
    }
  }

  async #repair(hand: Hand, id: string): Promise<void> {
    while (!(await this.#look(hand, id))) await hand.process.sleep(hand.process.unitMs);
  }

  /** Rewinds the instance if it has ended without a result. True: it has completed, or was given up. */
  async #look(hand: Hand, id: string): Promise<boolean> {
    const { client, process, ledger, elapsedMs } = hand;
    const handle = client.get(id);
    try {
      const { status, execution } = await handle.describe();
      if (status === "completed") return true;
      if (status !== "failed" && status !== "cancelled" && status !== "terminated") return false;
      const request = `${id}.rewind.${execution}`;
      await handle.rewind({ to: "failure", tree: true, requestId: request, reason: "repair" });
      ledger.acknowledge({ kind: "rewind", id, request, at: elapsedMs() });
    } catch (error) {
      if (hasNoPast(error)) return this.#restart(hand, id);
      if (!isLater(error)) throw error;
      await process.sleep(process.unitMs);
    }
    return false;
  }

  async #restart({ client, process }: Hand, id: string): Promise<boolean> {
    if (this.#job.raises.length > 0) this.givenUp.add(id);
    else {
      try {
        await client.get(id).restart({ reason: "it never ran" });
      } catch (error) {
        if (!isLater(error)) throw error;
        await process.sleep(process.unitMs);
      }
    }
    return this.givenUp.has(id);
  }
}

function hasNoPast(error: unknown): boolean {
  return isPerdureError(error, "INVALID_ARGUMENT") && error.message.includes("before its code ran");
}

/** The instance continued as new after its history was read. The next execution is still shorter. */
function isBehindEnd(error: unknown): boolean {
  return isPerdureError(error, "INVALID_ARGUMENT") && error.message.startsWith("before must be");
}

function isLater(error: unknown): boolean {
  return LATER.some((code) => isPerdureError(error, code));
}
