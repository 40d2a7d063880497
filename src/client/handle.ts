// A handle: one instance, from the outside.
//   HD1. Nothing is assumed about who runs the instance: every call goes to the store.
//   HD2. `result` follows continueAsNew and restart unless an execution is named.

import type { Codec } from "../core/codec.ts";
import { backOff, Committer } from "../core/committer.ts";
import type { EventDef } from "../core/definitions.ts";
import { formatDuration, parseDuration, type Duration } from "../core/duration.ts";
import { isPerdureError, PerdureError } from "../core/errors.ts";
import type { HistoryEvent, OrchestrationFailed } from "../core/history-events.ts";
import { decodeHistory, type HistoryRow } from "../core/history-row.ts";
import { parseName, parseRequestId } from "../core/ids.ts";
import type { InstanceRecord, SimpleResult } from "../core/provider/index.ts";
import type { Provider } from "../core/provider/provider.ts";
import { validate } from "../core/standard-schema.ts";
import { cancelRequest } from "../core/turn-effects.ts";
import { Changes } from "./changes.ts";
import { executionsOf, type ExecutionInfo } from "./executions.ts";
import { instanceInfo, waitingFor, type InstanceInfo } from "./instance-info.ts";
import { outcomeOf, outcomeOfEvent, type Outcome } from "./outcome.ts";

export interface ResultOptions {
  readonly timeout?: Duration;
  readonly signal?: AbortSignal;
  readonly execution?: number;
}
export type Why = string | { readonly reason: string; readonly by?: string };
export interface RaiseOptions {
  /** A repeated call with the same id raises once. */
  readonly requestId?: string;
}
type RaiseArguments<Raised> = unknown extends Raised
  ? [data?: Raised, options?: RaiseOptions]
  : undefined extends Raised
    ? [data?: Raised, options?: RaiseOptions]
    : [data: Raised, options?: RaiseOptions];

export class Handle<O = unknown> {
  readonly id: string;
  readonly #provider: Provider;
  readonly #committer: Committer;
  readonly #codec: Codec;

  constructor(provider: Provider, id: string, codec: Codec) {
    this.id = id;
    this.#provider = provider;
    this.#committer = Committer.of(provider);
    this.#codec = codec;
  }

  /** Waits for the end and returns the value, or rejects with OrchestrationError. */
  async result(options: ResultOptions = {}): Promise<O> {
    const outcome = await this.#outcome(options);
    if (outcome.kind === "error") throw outcome.error;
    return outcome.value as O; // typed by the definition the handle was made from
  }

  async exists(): Promise<boolean> {
    return (await this.#read(() => this.#provider.readInstance(this.id))) !== null;
  }

  async describe(): Promise<InstanceInfo> {
    const record = await this.#record();
    const address = { key: record.key, execution: record.execution };
    const rows = await this.#read(() => this.#provider.readHistory(address));
    const tasks = await this.#read(() => this.#provider.readTasks(address));
    const ended = outcomeOf(record, this.#codec) !== null;
    const open = ended ? [] : waitingFor(readableEvents(rows), tasks, this.#codec);
    return instanceInfo(record, open, this.#codec);
  }

  /** Sends an event; it is kept until the instance reads it. */
  async raise<T, Raised>(
    event: EventDef<T, Raised>,
    ...rest: RaiseArguments<Raised>
  ): Promise<void>;
  async raise(event: string, data?: unknown, options?: RaiseOptions): Promise<void>;
  async raise(
    event: EventDef<unknown, never> | string,
    data?: unknown,
    options: RaiseOptions = {},
  ): Promise<void> {
    const name = parseName(typeof event === "string" ? event : event.name, "event name");
    const schema = typeof event === "string" ? undefined : event.schema;
    const checked = schema === undefined ? data : await validate(schema, data, `event "${name}"`);
    const { environment } = this.#provider;
    const requestId =
      options.requestId === undefined
        ? `perdure.${environment.randomHex(16)}`
        : parseRequestId(options.requestId);
    const text = this.#codec.encode(checked);
    this.#accept(
      await this.#committer.submit({
        kind: "send",
        id: this.id,
        name,
        data: text,
        requestId,
        ifMissing: "fail",
      }),
    );
  }

  /** Asks the instance to end; its code may clean up. */
  async cancel(why: Why = "cancelled by request"): Promise<void> {
    const { reason, by } = whyOf(why);
    this.#accept(
      await this.#committer.submit({
        kind: "cancel",
        id: this.id,
        request: JSON.stringify(cancelRequest(reason, by)),
        cancelled: JSON.stringify(ended("cancelled", `canceled: ${reason}`)),
      }),
    );
  }

  /** Ends the instance at once, without running its code. */
  async terminate(why: Why = "terminated by request"): Promise<void> {
    const { reason } = whyOf(why);
    this.#accept(
      await this.#committer.submit({
        kind: "terminate",
        id: this.id,
        terminated: JSON.stringify(ended("terminated", `terminated: ${reason}`)),
        childRequest: JSON.stringify(cancelRequest(reason, "parent")),
      }),
    );
  }

  /** The events of an execution; the newest one unless another is named. */
  async history(options: { readonly execution?: number } = {}): Promise<readonly HistoryEvent[]> {
    const record = await this.#record();
    const execution = options.execution ?? record.execution;
    const address = { key: record.key, execution };
    return decodeHistory(await this.#read(() => this.#provider.readHistory(address)));
  }

  async executions(): Promise<readonly ExecutionInfo[]> {
    const record = await this.#record();
    const list = await this.#read(() => this.#provider.readExecutions(record.key));
    return executionsOf(record, list);
  }

  async #outcome(options: ResultOptions): Promise<Outcome> {
    const { environment } = this.#provider;
    const timeoutMs =
      options.timeout === undefined ? Infinity : parseDuration(options.timeout, "timeout");
    const until = environment.monotonic() + timeoutMs;
    for (;;) {
      options.signal?.throwIfAborted();
      const change = this.#nextChange(until, options.signal);
      try {
        const outcome = await this.#look(options.execution, until);
        if (outcome !== null) return outcome;
        const leftMs = until - environment.monotonic();
        if (leftMs <= 0) {
          const message = `Instance "${this.id}" did not end within ${formatDuration(timeoutMs)}.`;
          throw new PerdureError("TIMEOUT", message);
        }
        await change.woken;
      } finally {
        change.stop();
      }
    }
  }

  async #look(execution: number | undefined, until: number): Promise<Outcome | null> {
    const record = await this.#record(until);
    if (execution === undefined || execution === record.execution) {
      return outcomeOf(record, this.#codec);
    }
    const events = await this.history({ execution });
    const last = events.at(-1);
    if (last === undefined || execution > record.execution) {
      const message = `Instance "${this.id}" has no execution ${execution}.`;
      throw new PerdureError("INSTANCE_NOT_FOUND", message);
    }
    const outcome = outcomeOfEvent(last, this.#codec);
    if (outcome !== null) return outcome;
    const message = `Execution ${execution} of "${this.id}" continued as new: it has no result.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }

  /** Begins to wait before the store is looked at, so that no change falls in between. */
  #nextChange(
    until: number,
    signal: AbortSignal | undefined,
  ): { woken: Promise<void>; stop: () => void } {
    const { environment } = this.#provider;
    const { promise, resolve } = Promise.withResolvers<void>();
    const unwatch = Changes.of(this.#provider).watch(this.id, resolve);
    const leftMs = until - environment.monotonic();
    const timer =
      leftMs === Infinity ? null : environment.setTimer(Math.min(leftMs, 2 ** 31 - 1), resolve);
    const onAbort = (): void => resolve();
    signal?.addEventListener("abort", onAbort, { once: true });
    const stop = (): void => {
      unwatch();
      timer?.cancel();
      signal?.removeEventListener("abort", onAbort);
    };
    return { woken: promise, stop };
  }

  async #record(until = Infinity): Promise<InstanceRecord> {
    const record = await this.#read(() => this.#provider.readInstance(this.id), until);
    if (record === null) throw this.#notFound();
    return record;
  }

  /** Reads through trouble of the store for as long as it takes (P6), or as the caller has time. */
  async #read<T>(read: () => Promise<T>, until = Infinity): Promise<T> {
    const { environment } = this.#provider;
    for (let attempt = 0; ; attempt++) {
      try {
        return await read();
      } catch (error) {
        if (!(error instanceof PerdureError) || error.code !== "STORE_UNAVAILABLE") throw error;
        if (this.#committer.isClosed || environment.monotonic() >= until) throw error;
        await backOff(environment, attempt);
      }
    }
  }

  #accept(result: SimpleResult): void {
    if (result.kind === "done") return;
    if (result.code === "INSTANCE_NOT_FOUND") throw this.#notFound();
    const message = `Instance "${this.id}" has already ended.`;
    throw new PerdureError("INSTANCE_FINISHED", message);
  }

  #notFound(): PerdureError {
    return new PerdureError("INSTANCE_NOT_FOUND", `There is no instance "${this.id}".`);
  }
}

/** Of a history that cannot be read nothing is told; the block that it leads to says why (semantics 6). */
function readableEvents(rows: readonly HistoryRow[]): readonly HistoryEvent[] {
  try {
    return decodeHistory(rows);
  } catch (error) {
    if (isPerdureError(error, "HISTORY_CORRUPT")) return [];
    throw error;
  }
}

function whyOf(why: Why): { reason: string; by?: string } {
  const given: Partial<Exclude<Why, string>> | null =
    typeof why === "string" ? { reason: why } : why;
  const { reason, by } = given ?? {};
  if (typeof reason !== "string" || (by !== undefined && typeof by !== "string")) {
    throw new PerdureError(
      "INVALID_ARGUMENT",
      "A reason is a text, or { reason, by } of two texts.",
    );
  }
  return by === undefined ? { reason } : { reason, by };
}

export function ended(outcome: "cancelled" | "terminated", message: string): OrchestrationFailed {
  const name = outcome === "cancelled" ? "CancelledError" : "TerminatedError";
  const failure = {
    category: "application",
    kind: outcome,
    name,
    message,
    retryable: false,
  } as const;
  return { kind: "OrchestrationFailed", outcome, failure };
}
