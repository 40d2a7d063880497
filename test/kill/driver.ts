// The driver: starts jobs and raises their events through a client of its own, and remembers what was acknowledged.
//   D1. The ledger holds a start or a raise once its promise resolved, and never before: what it holds must
//       survive everything (P1, P4).
//   D2. A raise waits for the one before it, so that the order of the ledger is the order of receipt (P7).
//   D3. Some calls are made twice with one request id, as by a caller who did not hear the answer.

import { setTimeout as pause } from "node:timers/promises";
import type { Client, Handle } from "../../src/index.ts";
import { chanceOf, type Chance } from "./chance.ts";
import { EVENTS_OF, eventOf, jobOf, KINDS, type Job, type JobKind } from "./jobs.ts";
import { defineAll, news } from "./orchestrations.ts";

const REPEATED = 0.2;

export interface StartedJob {
  readonly kind: JobKind;
  readonly job: Job;
  /** What was raised and acknowledged, in order. */
  readonly raised: number[];
  /** Its result, or what kept it from having one. */
  outcome: { readonly value: unknown } | { readonly error: unknown } | null;
}

export class Driver {
  /** By instance id, acknowledged. */
  readonly ledger = new Map<string, StartedJob>();
  readonly #client: Client;
  readonly #seed: number;
  readonly #byKind = defineAll(null).byKind;
  #count = 0;
  #isOver = false;
  readonly #givenUp = new AbortController();

  constructor(client: Client, seed: number) {
    this.#client = client;
    this.#seed = seed;
  }

  /** Keeps that many jobs under way until `finish`; resolves when the last of them has an outcome. */
  async drive(lanes: number): Promise<void> {
    await Promise.all(Array.from({ length: lanes }, () => this.#lane()));
  }

  /** No further job is started, and those under way have this long. */
  finish(withinMs: number): void {
    this.#isOver = true;
    const stuck = new Error(`It has not ended ${withinMs} ms after the last kill.`);
    setTimeout(() => this.#givenUp.abort(stuck), withinMs).unref();
  }

  get finished(): number {
    return [...this.ledger.values()].filter(({ outcome }) => outcome !== null).length;
  }

  async #lane(): Promise<void> {
    while (!this.#isOver) {
      const number = this.#count++;
      const kind = KINDS[number % KINDS.length] ?? KINDS[0];
      await this.#runJob(kind, `${kind}-${number}`, chanceOf(this.#seed + number));
    }
  }

  async #runJob(kind: JobKind, id: string, chance: Chance): Promise<void> {
    const job = jobOf(chance.between(0, 2 ** 30));
    const started: StartedJob = { kind, job, raised: [], outcome: null };
    const start = (): Promise<Handle> =>
      this.#client.start(this.#byKind[kind], job, { id, requestId: `start-${id}` });
    const handle = await start();
    this.ledger.set(id, started);
    if (chance.happens(REPEATED)) await start();
    for (let index = 0; index < EVENTS_OF[kind]; index++) {
      await pause(chance.between(0, 60));
      await this.#raise(handle, started, index, chance);
    }
    started.outcome = await handle.result({ signal: this.#givenUp.signal }).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
  }

  async #raise(handle: Handle, started: StartedJob, index: number, chance: Chance): Promise<void> {
    const said = eventOf(started.job, index);
    const raise = (): Promise<void> => handle.raise(news, said, { requestId: `raise-${index}` });
    await raise();
    started.raised.push(said);
    if (chance.happens(REPEATED)) await raise();
  }
}
