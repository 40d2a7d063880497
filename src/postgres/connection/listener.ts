// Listener: one connection that receives the notifications of other processes.
//   - Notifications are only hints. While the listener is disconnected or the server is silent, polling
//       finds all work (notifications.2).
//   - A broken connection is reopened until that succeeds. Notifications in between are lost, so the
//       subscriber must then check everything (`onGap`).
//   - listener.1: A half-open connection never answers. The listener sends a query now and then, and drops
//       the connection if no answer comes.
//   - listener.2: The session is the listener's alone, and it is idle most of the time. A role may limit that.
//   - The listener does not keep the process alive.

import type pg from "pg";

export interface ListenerOptions {
  /** Opens a dedicated connection. */
  readonly connect: () => Promise<pg.Client>;
  /** Closes it. */
  readonly disconnect: (client: pg.Client) => void;
  /** Quoted for use in statements. */
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  /** Notifications may have been lost. */
  readonly onGap: () => void;
}

const PROBE_MS = 10_000;
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

  /** Resolves when the server has accepted LISTEN. */
  async open(): Promise<void> {
    const { connect, disconnect, channel, onMessage } = this.#options;
    const client = await connect();
    client.on("error", ignore); // "end" follows
    try {
      client.once("end", () => this.#lost(client));
      client.on("notification", ({ payload }) => onMessage(payload ?? ""));
      await client.query(`SET idle_session_timeout = 0; LISTEN ${channel}`); // listener.2
    } catch (error) {
      disconnect(client);
      throw error;
    }
    if (this.#closed) return disconnect(client);
    this.#client = client;
    this.#failures = 0;
    this.#wait(PROBE_MS, () => void this.#probe(client));
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    if (client !== null) this.#options.disconnect(client);
  }

  /** listener.1 */
  async #probe(client: pg.Client): Promise<void> {
    let silence: NodeJS.Timeout | undefined;
    const silent = new Promise<never>((_, reject) => {
      silence = setTimeout(() => reject(new Error("silent")), ANSWER_MS);
      silence.unref();
    });
    try {
      await Promise.race([client.query("SELECT 1"), silent]);
      if (this.#client === client) this.#wait(PROBE_MS, () => void this.#probe(client));
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
