// The driver of crashers: starts one of them after every few kills, so that the fleet has to bear both at once.

import type { Client } from "../../src/index.ts";
import { chanceOf } from "./chance.ts";
import { CRASHER_KINDS, crasherId } from "./crashers.ts";
import { jobOf } from "./jobs.ts";
import { defineAll } from "./orchestrations.ts";

/** Kills per crasher, in a run that is long enough for one of each kind. */
const KILLS_PER_CRASHER = 10;

export class CrasherDriver {
  readonly #client: Client;
  readonly #seed: number;
  readonly #every: number;
  readonly #byKind = defineAll(null).crashers;
  readonly #starts: Promise<string>[] = [];

  constructor(client: Client, options: { readonly seed: number; readonly kills: number }) {
    this.#client = client;
    this.#seed = options.seed;
    const every = Math.floor(options.kills / CRASHER_KINDS.length);
    this.#every = Math.max(1, Math.min(KILLS_PER_CRASHER, every));
  }

  /** To be called after each kill, with their number so far; kills at the same moment may share a number. */
  onKill(kills: number): void {
    while ((this.#starts.length + 1) * this.#every <= kills) {
      this.#starts.push(this.#start(this.#starts.length));
    }
  }

  /** The ids of all crashers whose start was acknowledged. */
  started(): Promise<readonly string[]> {
    return Promise.all(this.#starts);
  }

  async #start(number: number): Promise<string> {
    const kind = CRASHER_KINDS[number % CRASHER_KINDS.length] ?? CRASHER_KINDS[0];
    const id = crasherId(kind, number);
    const seed = chanceOf(this.#seed + number).between(0, 2 ** 30);
    await this.#client.start(this.#byKind[kind], jobOf(seed), { id });
    return id;
  }
}
