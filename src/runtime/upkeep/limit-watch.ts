// Limit watch: blocks instances whose history exceeds a limit, and logs warnings before that (semantics
// 9).
//   - An instance whose history exceeds a limit takes no further turn, except to clean up after a
//     cancellation.
//   - Small turns cost nothing: the events of a row are inspected only if the row is large enough to
//     contain a value near a limit.

import type { EventBody } from "../../core/history/events.ts";
import { historyRefusal, type Limits, WARNING_SHARE } from "../../core/values/limits.ts";
import type { LogSink } from "../../core/telemetry/log.ts";
import type { Run } from "../../core/replay/run.ts";
import type { HeldInstance } from "../instances/held-instance.ts";

/**
 * The number of subjects to remember. Beyond it the oldest subject is forgotten and may be logged again
 * (I12).
 */
const SUBJECTS_MAX = 1_000;

export class LimitWatch {
  readonly #limits: Limits;
  readonly #log: LogSink;
  /** The subjects that were logged. */
  readonly #warned = new Set<string>();
  /** A shorter row contains no value that is near a limit. */
  readonly #worthReading: number;
  readonly #eventsNear: number;
  readonly #bytesNear: number;
  readonly #keysNear: number;

  constructor(limits: Limits, log: LogSink) {
    this.#limits = limits;
    this.#log = log;
    this.#eventsNear = limits.historyEventsMax * WARNING_SHARE;
    this.#bytesNear = limits.historyBytesMax * WARNING_SHARE;
    this.#keysNear = limits.kvKeysMax * WARNING_SHARE;
    const { payloadBytesMax, statusBytesMax, kvValueBytesMax } = limits;
    const smallest = Math.min(payloadBytesMax, statusBytesMax, kvValueBytesMax);
    this.#worthReading = (smallest * WARNING_SHARE) / 3;
  }

  /** Why the instance must take no further turn, or null. */
  refusal(held: HeldInstance): string | null {
    const refusal = historyRefusal({ events: held.lastEvent, bytes: held.bytes }, this.#limits);
    if (refusal === null) return null;
    const windsUp =
      (held.run !== null && held.run.cancelReason !== null) ||
      held.messages.some(({ kind }) => kind === "cancel" || kind === "cancelTimeout");
    return windsUp ? null : refusal;
  }

  /** A turn was committed. */
  committed(held: HeldInstance, run: Run, events: readonly EventBody[], row: string): void {
    const { historyEventsMax, historyBytesMax, kvKeysMax } = this.#limits;
    const { lastEvent, bytes } = held;
    if (lastEvent >= this.#eventsNear || bytes >= this.#bytesNear) {
      const history = `The history of "${held.id}" (ctx.continueAsNew begins a new one)`;
      this.#near(history, lastEvent, historyEventsMax, "events");
      this.#near(history, bytes, historyBytesMax, "bytes");
    }
    if (run.state.size >= this.#keysNear) {
      this.#near(`"${held.id}"`, run.state.size, kvKeysMax, "keys");
    }
    if (row.length < this.#worthReading) return;
    for (const event of events) this.#look(held, event);
  }

  #look(held: HeldInstance, event: EventBody): void {
    const { payloadBytesMax, statusBytesMax, kvValueBytesMax } = this.#limits;
    const of = `of "${held.id}"`;
    if (event.kind === "StatusSet")
      this.#nearText(() => `The status ${of}`, event.status ?? "", statusBytesMax);
    else if (event.kind === "KeyValueSet") {
      this.#nearText(() => `The value of key "${event.key}" ${of}`, event.value, kvValueBytesMax);
    } else {
      const name = "name" in event ? ` "${event.name}"` : "";
      if ("input" in event)
        this.#nearText(() => `The input of${name} ${of}`, event.input, payloadBytesMax);
      if ("output" in event) this.#nearText(() => `An output ${of}`, event.output, payloadBytesMax);
      if (event.kind === "EventReceived")
        this.#nearText(() => `Event${name} ${of}`, event.data, payloadBytesMax);
    }
  }

  /** Logs once that `what` is near its limit. */
  #near(what: string, size: number, max: number, unit: "bytes" | "events" | "keys"): void {
    if (size < max * WARNING_SHARE || this.#warned.has(what)) return;
    if (this.#warned.size >= SUBJECTS_MAX) {
      const [oldest] = this.#warned;
      if (oldest !== undefined) this.#warned.delete(oldest);
    }
    this.#warned.add(what);
    this.#log("warn", `${what} has ${size} of at most ${max} ${unit}`, {});
  }

  /**
   * The same for the bytes of a text. A text that is clearly short is not measured, and `what` is not called.
   */
  #nearText(what: () => string, text: string, max: number): void {
    if (text.length * 3 < max * WARNING_SHARE) return;
    this.#near(what(), Buffer.byteLength(text), max, "bytes");
  }
}
