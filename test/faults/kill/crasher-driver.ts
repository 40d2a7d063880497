// The driver of crashers: starts a crasher after every few kills, so that the fleet faces kills and crashers at the
// same time.

import type { Client } from "../../../src/index.ts";
import { chanceOf } from "./chance.ts";
import { CRASHER_KINDS, crasherId } from "./crashers.ts";
import { jobOf } from "./jobs.ts";
import { defineAll } from "./orchestrations.ts";

/** Kills per crasher. A short run starts crashers more often, so that it has one of each kind. */
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

  /** Call this after each kill with the number of kills so far; simultaneous kills may pass the same number. */
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
