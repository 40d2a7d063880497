// The driver of a store that loses commits: it keeps jobs running, and asks again for what it finds missing.
//   FD1. A client of such a store may find that an acknowledged call has left no trace. It repeats the call under the
//        same request id.
//   FD2. Jobs hear one event at most: of two events, a failover can lose the first and keep the second, and then no
//        client can restore their order.

import { isPerdureError, type Client, type Handle } from "../../../src/index.ts";
import type { Outcome } from "../../kill/ack-log.ts";
import {
  CANCELLED_KIND,
  EVENTS_OF,
  eventOf,
  jobOf,
  KINDS,
  outcomeOf,
  type JobKind,
} from "../../kill/jobs.ts";
import { defineAll, news } from "../../kill/orchestrations.ts";

/** FD2 */
const ASKED = KINDS.filter((kind) => EVENTS_OF[kind] <= 1);
/** After so long without an outcome, the driver looks whether its calls are still there. */
const PATIENCE_MS = 2_000;

interface Asked {
  readonly id: string;
  readonly kind: JobKind;
  readonly seed: number;
}

export class ForgetfulDriver {
  readonly #client: Client;
  readonly #seed: number;
  readonly #byKind = defineAll(null).byKind;
  readonly #asked: Asked[] = [];
  #finished = 0;
  #isOver = false;

  constructor(client: Client, seed: number) {
    this.#client = client;
    this.#seed = seed;
  }

  /** Jobs that had their outcome, which the store may have lost again since. */
  get finished(): number {
    return this.#finished;
  }

  /** By instance id: what each job must come to. */
  get expected(): ReadonlyMap<string, Outcome> {
    return new Map(this.#asked.map(({ id, kind, seed }) => [id, outcomeOf(kind, jobOf(seed))]));
  }

  /** Keeps that many jobs running until `finish`. */
  async drive(lanes: number): Promise<void> {
    await Promise.all(Array.from({ length: lanes }, () => this.#lane()));
  }

  finish(): void {
    this.#isOver = true;
  }

  /** Asks again for every job that was ever asked for: the last failover may have lost any of its calls. */
  async askAgain(): Promise<void> {
    for (const asked of this.#asked) await this.#ask(asked);
  }

  async #lane(): Promise<void> {
    while (!this.#isOver) {
      const number = this.#asked.length;
      const kind = ASKED[number % ASKED.length] ?? ASKED[0] ?? "linear";
      const asked = { id: `${kind}-${number}`, kind, seed: this.#seed + number };
      this.#asked.push(asked);
      while (!this.#isOver && !(await this.#isDone(asked)));
    }
  }

  async #isDone(asked: Asked): Promise<boolean> {
    const handle = await this.#ask(asked);
    try {
      await handle.result({ timeout: PATIENCE_MS });
    } catch (error) {
      if (!isPerdureError(error, "CANCELLED")) return false;
    }
    this.#finished++;
    return true;
  }

  /** FD1 */
  async #ask({ id, kind, seed }: Asked): Promise<Handle> {
    const job = jobOf(seed);
    const options = { id, requestId: `start-${id}`, onConflict: "useExisting" } as const;
    const handle = await this.#client.start(this.#byKind[kind], job, options);
    try {
      if (EVENTS_OF[kind] > 0) {
        await handle.raise(news, eventOf(job, 0), { requestId: `raise-${id}` });
      }
      if (kind === CANCELLED_KIND) await handle.cancel("the driver wants it so");
    } catch (error) {
      // The instance has ended, or a failover has just taken it away: the next look finds out.
      const isOver = isPerdureError(error, "INSTANCE_FINISHED");
      if (!isOver && !isPerdureError(error, "INSTANCE_NOT_FOUND")) throw error;
    }
    return handle;
  }
}
