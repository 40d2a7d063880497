// Warnings before a limit is reached: one a subject and runtime, so that a busy one does not flood the log.

import type { LogSink } from "./log.ts";
import { WARNING_SHARE } from "./limits.ts";

/** How many subjects are remembered; after that the oldest may be warned about again (I12). */
const SUBJECTS_MAX = 1_000;

export class LimitWarnings {
  readonly #log: LogSink;
  readonly #told = new Set<string>();

  constructor(log: LogSink) {
    this.#log = log;
  }

  /** Says once that `what` is near its limit. The size is worked out only when it may matter. */
  near(what: string, size: number, max: number, unit: "bytes" | "events" | "keys"): void {
    if (size < max * WARNING_SHARE || this.#told.has(what)) return;
    if (this.#told.size >= SUBJECTS_MAX) {
      const [oldest] = this.#told;
      if (oldest !== undefined) this.#told.delete(oldest);
    }
    this.#told.add(what);
    this.#log("warn", `${what} has ${size} of the ${max} ${unit} that are allowed`, {});
  }

  /** The same for a text; characters stand for bytes until they are near. */
  nearText(what: () => string, text: string, max: number): void {
    if (text.length * 3 < max * WARNING_SHARE) return;
    this.near(what(), Buffer.byteLength(text), max, "bytes");
  }
}
