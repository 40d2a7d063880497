// The driver: starts jobs, raises their events and cancels some through its own client, and logs the acknowledged
// calls.
//   - The log has a start or a raise only after its promise resolved: every logged call must survive all faults
//       (P1, P4).
//   - Each raise waits for the previous one, so that the order of the log is the order of receipt (P7).
//   - Some calls are made twice with one request id, like a caller that retries because it got no answer.

import { setTimeout as pause } from "node:timers/promises";
import { isPerdureError, type Client, type Handle } from "../../../src/index.ts";
import type { AckLog, Outcome } from "./audit/ack-log.ts";
import { chanceOf, type Chance } from "./chance.ts";
import {
  CANCELLED_KIND,
  EVENTS_OF,
  eventOf,
  jobOf,
  KINDS,
  type Job,
  type JobKind,
} from "./jobs.ts";
import { defineAll, news } from "./orchestrations.ts";

const REPEATED = 0.2;
/** The longest pause before an event or a cancel. */
const PAUSE_MS_MAX = 60;

export class Driver {
  readonly #client: Client;
  readonly #log: AckLog;
  readonly #seed: number;
  readonly #byKind = defineAll(null).byKind;
  #count = 0;
  #finished = 0;
  #isOver = false;
  readonly #givenUp = new AbortController();

  constructor(client: Client, log: AckLog, seed: number) {
    this.#client = client;
    this.#log = log;
    this.#seed = seed;
  }

  /** Keeps that many jobs in flight until `finish`; resolves when the last of them has an outcome. */
  async drive(lanes: number): Promise<void> {
    await Promise.all(Array.from({ length: lanes }, () => this.#lane()));
  }

  /** Starts no more jobs, and gives the jobs in flight `withinMs` to end. */
  finish(withinMs: number): void {
    this.#isOver = true;
    setTimeout(() => this.#givenUp.abort(), withinMs).unref();
  }

  /** Jobs that have an outcome. */
  get finished(): number {
    return this.#finished;
  }

  async #lane(): Promise<void> {
    while (!this.#isOver) {
      const number = this.#count++;
      const kind = KINDS[number % KINDS.length] ?? KINDS[0];
      await this.#runJob(kind, `${kind}-${number}`, chanceOf(this.#seed + number));
    }
  }

  async #runJob(kind: JobKind, id: string, chance: Chance): Promise<void> {
    const seed = chance.between(0, 2 ** 30);
    const job = jobOf(seed);
    const start = (): Promise<Handle> =>
      this.#client.start(this.#byKind[kind], job, { id, requestId: `start-${id}` });
    const handle = await start();
    await this.#log.append({ what: "start", id, kind, seed });
    if (chance.happens(REPEATED)) await start();
    for (let index = 0; index < EVENTS_OF[kind]; index++) {
      await pause(chance.between(0, PAUSE_MS_MAX));
      await this.#raise(handle, job, index, chance);
    }
    if (kind === CANCELLED_KIND) {
      await pause(chance.between(0, PAUSE_MS_MAX));
      await handle.cancel("cancelled by the driver");
      await this.#log.append({ what: "cancel", id });
    }
    const outcome = await handle.result({ signal: this.#givenUp.signal }).then(
      (value): Outcome => ({ value }),
      (error: unknown): Outcome => ({ error: isPerdureError(error) ? error.code : String(error) }),
    );
    if (this.#givenUp.signal.aborted) return; // no result was acknowledged; the job is stuck
    await this.#log.append({ what: "result", id, outcome });
    this.#finished++;
  }

  async #raise(handle: Handle, job: Job, index: number, chance: Chance): Promise<void> {
    const said = eventOf(job, index);
    const raise = (): Promise<void> => handle.raise(news, said, { requestId: `raise-${index}` });
    await raise();
    await this.#log.append({ what: "raise", id: handle.id, said });
    if (chance.happens(REPEATED)) await raise();
  }
}
