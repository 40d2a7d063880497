// The driver of a store that loses commits: it keeps jobs running and repeats calls whose effect is missing.
//   - driver.1: A client of such a store may find that an acknowledged call had no effect. It repeats the call with the same
//        request id.
//   - driver.2: A job gets at most one event: of two events, a failover can lose the first and keep the second, and then no
//        client can restore their order.

import { isPerdureError, type Client, type Handle } from "../../../../src/index.ts";
import type { Outcome } from "../../../faults/kill/audit/ack-log.ts";
import {
  CANCELLED_KIND,
  EVENTS_OF,
  eventOf,
  jobOf,
  KINDS,
  outcomeOf,
  type JobKind,
} from "../../../faults/kill/jobs.ts";
import { defineAll, news } from "../../../faults/kill/orchestrations.ts";

/** driver.2 */
const USED_KINDS = KINDS.filter((kind) => EVENTS_OF[kind] <= 1);
/** Without an outcome for this time, the driver repeats its calls. */
const PATIENCE_MS = 2_000;

interface RequestedJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly seed: number;
}

export class ForgetfulDriver {
  readonly #client: Client;
  readonly #seed: number;
  readonly #byKind = defineAll(null).byKind;
  readonly #requested: RequestedJob[] = [];
  #finished = 0;
  #isOver = false;

  constructor(client: Client, seed: number) {
    this.#client = client;
    this.#seed = seed;
  }

  /** The number of jobs that returned an outcome. The store may have lost some of them since. */
  get finished(): number {
    return this.#finished;
  }

  /** The expected outcome of each job, by instance id. */
  get expected(): ReadonlyMap<string, Outcome> {
    return new Map(this.#requested.map(({ id, kind, seed }) => [id, outcomeOf(kind, jobOf(seed))]));
  }

  /** Keeps `lanes` jobs running until `finish`. */
  async drive(lanes: number): Promise<void> {
    await Promise.all(Array.from({ length: lanes }, () => this.#lane()));
  }

  finish(): void {
    this.#isOver = true;
  }

  /** Repeats the calls of every job, because the last failover may have lost any of them. */
  async repeatAll(): Promise<void> {
    for (const job of this.#requested) await this.#request(job);
  }

  async #lane(): Promise<void> {
    while (!this.#isOver) {
      const number = this.#requested.length;
      const kind = USED_KINDS[number % USED_KINDS.length] ?? USED_KINDS[0] ?? "linear";
      const job = { id: `${kind}-${number}`, kind, seed: this.#seed + number };
      this.#requested.push(job);
      while (!this.#isOver && !(await this.#isDone(job)));
    }
  }

  async #isDone(job: RequestedJob): Promise<boolean> {
    const handle = await this.#request(job);
    try {
      await handle.result({ timeout: PATIENCE_MS });
    } catch (error) {
      if (!isPerdureError(error, "CANCELLED")) return false;
    }
    this.#finished++;
    return true;
  }

  /** driver.1 */
  async #request({ id, kind, seed }: RequestedJob): Promise<Handle> {
    const input = jobOf(seed);
    const options = { id, requestId: `start-${id}`, onConflict: "useExisting" } as const;
    const handle = await this.#client.start(this.#byKind[kind], input, options);
    try {
      if (EVENTS_OF[kind] > 0) {
        await handle.raise(news, eventOf(input, 0), { requestId: `raise-${id}` });
      }
      if (kind === CANCELLED_KIND) await handle.cancel("requested by the driver");
    } catch (error) {
      // The instance has ended, or a failover has just lost it. The next call finds out.
      const isOver = isPerdureError(error, "INSTANCE_FINISHED");
      if (!isOver && !isPerdureError(error, "INSTANCE_NOT_FOUND")) throw error;
    }
    return handle;
  }
}
