// Listener: one connection that hears what other processes tell.
//   L1. Never relied upon: while it is not there, or the server keeps quiet, everything is found by polling (W2).
//   L2. A connection that broke is made anew, for as long as it takes. Whatever was told in between was missed, so
//       whoever listens is told to look at everything.
//   L3. A connection that is only half open answers nothing: it is asked now and then, and given up if it is silent.
//   L4. It keeps no process alive.

import type pg from "pg";

export interface ListenerOptions {
  /** A connection of its own. */
  readonly connect: () => Promise<pg.Client>;
  /** Gives it up. */
  readonly disconnect: (client: pg.Client) => void;
  /** As it stands in statements. */
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  /** Something may have been missed. */
  readonly onGap: () => void;
}

const BEAT_MS = 10_000;
const ANSWER_MS = 5_000;
const BACKOFF_BASE_MS = 100;
const BACKOFF_MAX_MS = 3_000;
const ignore = (): void => {};

export class Listener {
  readonly #options: ListenerOptions;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #failures = 0;
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Resolves when it hears. */
  async open(): Promise<void> {
    const { connect, disconnect, channel, onMessage } = this.#options;
    const client = await connect();
    client.on("error", ignore); // "end" follows and says the same
    try {
      client.once("end", () => this.#lost(client));
      client.on("notification", ({ payload }) => onMessage(payload ?? ""));
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      disconnect(client);
      throw error;
    }
    if (this.#closed) return disconnect(client);
    this.#client = client;
    this.#failures = 0;
    this.#wait(BEAT_MS, () => void this.#beat(client));
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    if (client !== null) this.#options.disconnect(client);
  }

  /** L3 */
  async #beat(client: pg.Client): Promise<void> {
    let silence: NodeJS.Timeout | undefined;
    const silent = new Promise<never>((_, reject) => {
      silence = setTimeout(() => reject(new Error("silent")), ANSWER_MS);
      silence.unref();
    });
    try {
      await Promise.race([client.query("SELECT 1"), silent]);
      if (this.#client === client) this.#wait(BEAT_MS, () => void this.#beat(client));
    } catch {
      this.#lost(client);
    } finally {
      clearTimeout(silence);
    }
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#options.disconnect(client);
    this.#reopen();
  }

  #reopen(): void {
    if (this.#closed) return;
    const delay = Math.min(BACKOFF_BASE_MS * 2 ** this.#failures, BACKOFF_MAX_MS);
    this.#failures += 1;
    this.#wait(delay * (1 - Math.random() / 2), () => {
      this.open().then(this.#options.onGap, () => this.#reopen());
    });
  }

  #wait(delayMs: number, fn: () => void): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(fn, delayMs);
    this.#timer.unref();
  }
}
