// Run state: the custom status, key-values and attributes of an execution.
//   - run-state.1: The state depends only on the history: on the last delivered event and the changes that
//        the code made since (I15, core.run.2).
//   - The time of a key is the time of the event during which it was set, so that pruning by age is
//        deterministic. Keys are processed in sorted order.
//   - Exceeding a limit throws at the call, before anything is recorded (semantics 9).

import type { ContextValues } from "../context/app-types.ts";
import { NO_CONTEXT } from "../context/start-context.ts";
import type { StoredAttribute, StoredAttributes } from "../define/attributes.ts";
import { PerdureError } from "../errors/errors.ts";
import { attributesOver, bytesOver, type Limits } from "../values/limits.ts";
import type { OrchestrationStarted, StoredKeyValue } from "../history/events.ts";
import { LazyMap } from "../collections/lazy-map.ts";

export type StateLimits = Pick<Limits, "statusBytesMax" | "kvKeysMax" | "kvValueBytesMax">;

export class RunState {
  /** Set by orchestration-main.ts, before the code runs. */
  context: ContextValues = NO_CONTEXT;
  status: string | null = null;
  attributes: StoredAttributes = {};
  readonly #keyValues = new LazyMap<string, { value: string; at: number }>();
  /** Null: none, as in most executions. */
  #closedStreams: Set<string> | null = null;

  begin(started: OrchestrationStarted): void {
    this.status = started.status ?? null;
    this.attributes = started.attributes ?? {};
    for (const [key, value, at] of started.keyValues ?? []) this.#keyValues.set(key, { value, at });
    for (const name of started.closedStreams ?? []) this.closeStream(name);
  }

  get size(): number {
    return this.#keyValues.size;
  }
  get(key: string): string | undefined {
    return this.#keyValues.get(key)?.value;
  }
  /** Sorted by key. */
  entries(): readonly StoredKeyValue[] {
    return [...this.#keyValues.entries()]
      .map(([key, { value, at }]) => [key, value, at] as const)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  }
  set(key: string, value: string, at: number): void {
    this.#keyValues.set(key, { value, at });
  }
  delete(key: string): void {
    this.#keyValues.delete(key);
  }
  clear(): void {
    this.#keyValues.clear();
  }
  olderThan(at: number): readonly string[] {
    return this.entries()
      .filter((entry) => entry[2] < at)
      .map(([key]) => key);
  }

  /** The streams that the code of this instance has closed, sorted (stream-calls.2). */
  get closedStreams(): readonly string[] {
    return this.#closedStreams === null ? [] : [...this.#closedStreams].sort();
  }
  isStreamClosed(name: string): boolean {
    return this.#closedStreams?.has(name) ?? false;
  }
  closeStream(name: string): void {
    (this.#closedStreams ??= new Set()).add(name);
  }

  merge(changes: Readonly<Record<string, StoredAttribute | null>>): void {
    this.attributes = this.merged(changes);
  }
  /** The attributes after these changes. */
  merged(changes: Readonly<Record<string, StoredAttribute | null>>): StoredAttributes {
    const merged: Record<string, StoredAttribute> = { ...this.attributes };
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) delete merged[name];
      else merged[name] = value;
    }
    return merged;
  }
  checkAttributes(changes: Readonly<Record<string, StoredAttribute | null>>): void {
    const over = attributesOver(this.merged(changes));
    if (over !== null) throw over;
  }

  checkStatus(text: string, limits: StateLimits): void {
    checkBytes(text, limits.statusBytesMax, "The custom status");
  }
  checkKeyValue(key: string, text: string, limits: StateLimits): void {
    checkBytes(text, limits.kvValueBytesMax, `The value of key "${key}"`);
    if (this.#keyValues.has(key) || this.#keyValues.size < limits.kvKeysMax) return;
    const message = `An instance must have at most ${limits.kvKeysMax} keys; "${key}" would exceed the limit.`;
    throw new PerdureError("LIMIT_EXCEEDED", message);
  }
}

function checkBytes(text: string, max: number, what: string): void {
  const bytes = bytesOver(text, max);
  if (bytes === 0) return;
  throw new PerdureError("LIMIT_EXCEEDED", `${what} has ${bytes} bytes; the limit is ${max}.`);
}
