// The teller starts tales, several at a time, reads their streams while they are told, and audits each of them.

import type { Client, Handle } from "../../../src/index.ts";
import type { StreamEntry } from "../../../src/stream/index.ts";
import { chanceOf } from "../kill/chance.ts";
import { shownOf, taleFaults } from "./audit.ts";
import { defineTales, FIRST_TALE, taleOf, words, type Word } from "./tales.ts";

const LANES = 6;

export class Teller {
  readonly #client: Client;
  readonly #seed: number;
  readonly #tale = defineTales(() => undefined).tale;
  readonly #givenUp = new AbortController();
  #isEnough = false;
  readonly faults: string[] = [];
  readonly met = { tales: 0, values: 0, resets: 0, failedParts: 0 };

  constructor(client: Client, seed: number) {
    this.#client = client;
    this.#seed = seed;
  }

  async tell(): Promise<void> {
    await Promise.all(Array.from({ length: LANES }, () => this.#lane()));
  }

  /** Starts no further tale. Tales that have not ended in time are faults. */
  finishWithin(ms: number): void {
    this.#isEnough = true;
    setTimeout(() => this.#givenUp.abort(), ms).unref();
  }

  async #lane(): Promise<void> {
    while (!this.#isEnough) {
      const number = ++this.met.tales;
      try {
        await this.#one(number);
      } catch (error) {
        this.faults.push(`tale ${number}: ${String(error)}`);
        if (this.#givenUp.signal.aborted) return;
      }
    }
  }

  async #one(number: number): Promise<void> {
    const tale = number === 1 ? FIRST_TALE : taleOf(chanceOf(this.#seed * 1_000 + number));
    const handle = await this.#client.start(this.#tale, tale, { id: `tale-${number}` });
    const [live, liveSettled, told] = await Promise.all([
      this.#read(handle, false),
      this.#read(handle, true),
      handle.result({ signal: this.#givenUp.signal }),
    ]);
    const again = await this.#read(handle, false);
    const settled = await this.#read(handle, true);
    const found = taleFaults(tale, told, { live, liveSettled, again, settled });
    this.faults.push(...found.map((fault) => `tale ${number}: ${fault}`));
    this.met.values += shownOf(again).length;
    this.met.resets += again.filter(({ kind }) => kind === "reset").length;
    this.met.failedParts += told.filter(({ run }) => run === null).length;
  }

  /** Reads to the end of the stream. */
  async #read(handle: Handle, settled: boolean): Promise<readonly StreamEntry<Word>[]> {
    const entries: StreamEntry<Word>[] = [];
    const { signal } = this.#givenUp;
    for await (const entry of handle.stream(words, { settled, signal })) entries.push(entry);
    return entries;
  }
}
