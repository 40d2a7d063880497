// Limits as the runtime sees them: histories that grew too long, and warnings before that (semantics 9).
//   LW1. A history over its limit takes no further turn; one that is being cancelled may still wind up.
//   LW2. Looking costs nothing for small turns: a row is searched only when something in it could be near a limit.

import type { EventBody } from "../core/history-events.ts";
import { LimitWarnings } from "../core/limit-warnings.ts";
import { historyRefusal, WARNING_SHARE, type Limits } from "../core/limits.ts";
import type { LogSink } from "../core/log.ts";
import type { Run } from "../core/run.ts";
import type { HeldInstance } from "./held-instance.ts";

export class LimitWatch {
  readonly #limits: Limits;
  readonly #warnings: LimitWarnings;
  /** A row of fewer characters holds nothing that is near a limit. */
  readonly #worthReading: number;
  readonly #eventsNear: number;
  readonly #bytesNear: number;
  readonly #keysNear: number;

  constructor(limits: Limits, log: LogSink) {
    this.#limits = limits;
    this.#warnings = new LimitWarnings(log);
    this.#eventsNear = limits.historyEventsMax * WARNING_SHARE;
    this.#bytesNear = limits.historyBytesMax * WARNING_SHARE;
    this.#keysNear = limits.kvKeysMax * WARNING_SHARE;
    const { payloadBytesMax, statusBytesMax, kvValueBytesMax } = limits;
    const smallest = Math.min(payloadBytesMax, statusBytesMax, kvValueBytesMax);
    this.#worthReading = (smallest * WARNING_SHARE) / 3;
  }

  /** Why the instance may take no further turn, or null. */
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
      this.#warnings.near(history, lastEvent, historyEventsMax, "events");
      this.#warnings.near(history, bytes, historyBytesMax, "bytes");
    }
    if (run.state.size >= this.#keysNear) {
      this.#warnings.near(`"${held.id}"`, run.state.size, kvKeysMax, "keys");
    }
    if (row.length < this.#worthReading) return;
    for (const event of events) this.#look(held, event);
  }

  #look(held: HeldInstance, event: EventBody): void {
    const { payloadBytesMax, statusBytesMax, kvValueBytesMax } = this.#limits;
    const of = `of "${held.id}"`;
    const near = (what: () => string, text: string, max: number): void =>
      this.#warnings.nearText(what, text, max);
    if (event.kind === "StatusSet")
      near(() => `The status ${of}`, event.status ?? "", statusBytesMax);
    else if (event.kind === "KeyValueSet") {
      near(() => `The value of key "${event.key}" ${of}`, event.value, kvValueBytesMax);
    } else {
      const name = "name" in event ? ` "${event.name}"` : "";
      if ("input" in event) near(() => `The input of${name} ${of}`, event.input, payloadBytesMax);
      if ("output" in event) near(() => `An output ${of}`, event.output, payloadBytesMax);
      if (event.kind === "EventReceived")
        near(() => `Event${name} ${of}`, event.data, payloadBytesMax);
    }
  }
}
