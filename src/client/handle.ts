// A handle: reads and controls one instance from a client.
//   - Every call goes to the store: any process may run the instance.
//   - `result` follows continueAsNew and restart, unless the caller names an execution.

import type { AskArguments, RaiseArguments, RequestOutput } from "../core/context/types.ts";
import { checkValue, type AnyRequest, type ValueDef } from "../core/define/request.ts";
import type { EventDef } from "../core/define/definitions.ts";
import { PerdureError } from "../core/errors/errors.ts";
import type { HistoryEvent } from "../core/history/events.ts";
import { checkMembers, checkInteger } from "../core/checks.ts";
import type { AnyStream, StreamValue } from "../core/define/stream.ts";
import { showValue } from "../core/ids/ids.ts";
import type { InstanceStatistics } from "../core/provider/index.ts";
import { cancelRequest } from "../core/replay/effects.ts";
import type { AskOptions } from "./calls/ask-item.ts";
import { askInstance } from "./calls/ask.ts";
import { raiseEvent, type RaiseOptions } from "./calls/raise.ts";
import { readValue } from "./read-value.ts";
import { completedWorkOf, type CompletedWork } from "./inspect/completed-work.ts";
import { checkDefinition, type Expected } from "./definition-check.ts";
import { describeRecord } from "./inspect/describe.ts";
import { HandleKeyValues } from "./handle-kv.ts";
import { cancelledWithoutRun, terminated } from "../core/errors/built-in-failures.ts";
import { executionsOf, type ExecutionInfo } from "./inspect/executions.ts";
import {
  checkHistoryOptions,
  incompleteHistory,
  type HistoryOptions,
} from "./inspect/history-part.ts";
import { eventsOf, HistoryReader } from "./inspect/history-reader.ts";
import type { InstanceInfo } from "./inspect/instance-info.ts";
import { NodeHandle } from "./inspect/node-handle.ts";
import { outcomeOf, outcomeOfEvent, type Outcome } from "./outcome.ts";
import { restartInstance, type RestartOptions } from "./repair/restart.ts";
import {
  checkRewind,
  rewindInstance,
  type RewindOptions,
  type RewindReport,
} from "./repair/rewind.ts";
import type { Store } from "./store.ts";
import type { StreamInfo } from "./streams/entries.ts";
import { listStreams, trimStream } from "./streams/list-and-trim.ts";
import {
  checkReadStream,
  readStream,
  type ReadStreamOptions,
  type StreamReader,
} from "./streams/read-stream.ts";
import { treeOf, type InstanceTree } from "./inspect/tree.ts";
import { readUnread, type UnreadOptions, type UnreadPage } from "./inspect/unread.ts";
import { checkSignal, checkWait, type LocalStart, waitUntil, type WaitOptions } from "./waiting.ts";
import { watchInstance } from "./watch.ts";

/** How `handle.result()` waits. */
export interface ResultOptions extends WaitOptions {
  readonly execution?: number;
}
/** A reason, and the person or system that gave it. */
export type Why = string | { readonly reason: string; readonly by?: string };
const WATCH_OPTIONS = { signal: true } as const;
const COMPLETED_OPTIONS = { execution: true } as const;
const WHY = { reason: true, by: true } as const;

/** Reads and controls one instance. Every call goes to the store. */
export class Handle<O = unknown, Nodes = Record<never, never>> {
  readonly id: string;
  /** The instance's key-values. */
  readonly kv: HandleKeyValues;
  readonly #store: Store;
  readonly #expected: Expected;
  readonly #localStart: LocalStart | null;

  constructor(
    store: Store,
    id: string,
    expected: Expected = null,
    localStart: LocalStart | null = null,
  ) {
    this.id = id;
    this.#store = store;
    this.#expected = expected;
    this.#localStart = localStart;
    this.kv = new HandleKeyValues(store, id);
  }

  /** Waits until the instance ends. Returns its value, or rejects with OrchestrationError. */
  async result(options: ResultOptions = {}): Promise<O> {
    checkWait(options, "handle.result", { execution: true });
    const { execution } = options;
    checkInteger(execution, 1, "execution");
    const look = (until: number): Promise<Outcome | null> => this.#look(execution, until);
    const local = execution === undefined ? this.#localStart : null;
    const what = `Instance "${this.id}" did not end`;
    const outcome = await waitUntil(this.#store, this.id, options, look, { what, local });
    if (outcome.kind === "error") throw outcome.error;
    return outcome.value as O; // The type comes from the definition that the handle was made from.
  }

  /** A node of a flow, by its path, its path without round numbers, or its id. */
  node<Path extends keyof Nodes & string>(path: Path): NodeHandle<Nodes[Path]>;
  node(path: string): NodeHandle;
  node(path: string): NodeHandle {
    if (typeof path !== "string" || path === "") {
      const message = `The path of a node must be a non-empty string; got ${showValue(path)}.`;
      throw new PerdureError("INVALID_ARGUMENT", message);
    }
    const flow = this.#expected?.hash === undefined ? null : this.#expected;
    return new NodeHandle(this.#store, { id: this.id, path, flow });
  }

  async exists(): Promise<boolean> {
    return (await this.#store.read((provider) => provider.readInstance(this.id))) !== null;
  }

  async describe(): Promise<InstanceInfo> {
    return describeRecord(this.#store, await this.#store.record(this.id));
  }

  /** Yields each state of the instance until it ends. Aborting the signal throws the signal's reason. */
  watch(
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<InstanceInfo, void, undefined> {
    checkMembers(options, WATCH_OPTIONS, "handle.watch");
    checkSignal(options.signal);
    return watchInstance(this.#store, this.id, options.signal);
  }

  /**
   * Reads a stream of the instance until it is over: items, resets, and one end. Waits at the end of a live
   * stream. Aborting the signal throws the signal's reason.
   */
  stream<S extends AnyStream | string>(
    stream: S,
    options: ReadStreamOptions = {},
  ): StreamReader<StreamValue<S>> {
    const name = checkReadStream(stream, options, "handle.stream");
    const target = { id: this.id, name, settled: options.settled ?? false };
    // The type comes from the definition: the code that writes to the stream uses it too.
    return readStream(this.#store, target, options) as StreamReader<StreamValue<S>>;
  }

  /** The streams of the instance, sorted by name. */
  streams(): Promise<readonly StreamInfo[]> {
    return listStreams(this.#store, this.id);
  }

  /** Deletes the entries of a stream before an offset. An offset beyond the end means the end. */
  async trim(stream: AnyStream | string, options: { readonly before: number }): Promise<void> {
    await trimStream(this.#store, this.id, stream, options);
  }

  /** Sends an event. The store keeps it until the instance reads it. */
  async raise<E extends EventDef<unknown, never> | string>(
    event: E,
    ...rest: RaiseArguments<E, RaiseOptions>
  ): Promise<void> {
    const [data, options = {}]: [data?: unknown, options?: RaiseOptions] = rest;
    await raiseEvent(this.#store, this.id, event, data, options);
  }

  /** Sends a request and waits for its answer. Rejects with RequestError if the instance refuses it. */
  async ask<R extends AnyRequest | string>(
    request: R,
    ...rest: AskArguments<R, AskOptions>
  ): Promise<RequestOutput<R>> {
    const [input, options = {}]: [input?: unknown, options?: AskOptions] = rest;
    const answer = await askInstance(this.#store, { id: this.id, request, input, options });
    return answer as RequestOutput<R>; // The type comes from the definition of the request.
  }

  /** Reads a typed value as of the instance's last commit, also after its end. Undefined: it is not set. */
  async read<T>(value: ValueDef<T>): Promise<T | undefined> {
    checkValue(value, "handle.read");
    return readValue(this.#store, this.id, value);
  }

  /** Requests cancellation. The instance's code may clean up before the instance ends. */
  async cancel(why: Why = "cancelled by request"): Promise<void> {
    const { reason, by } = whyOf(why);
    await this.#store.write(this.id, {
      kind: "cancel",
      id: this.id,
      request: JSON.stringify(cancelRequest(reason, by)),
      cancelled: JSON.stringify(cancelledWithoutRun(reason)),
    });
  }

  /** Ends the instance at once, without cleanup. */
  async terminate(why: Why = "terminated by request"): Promise<void> {
    const { reason, by } = whyOf(why);
    const data = by === undefined ? undefined : this.#store.codec.encode({ by });
    await this.#store.write(this.id, {
      kind: "terminate",
      id: this.id,
      status: "terminated",
      terminated: JSON.stringify(terminated(reason, data)),
      childRequest: JSON.stringify(cancelRequest(reason, "parent")),
    });
  }

  /**
   * Pauses the instance: no further turn runs. Running activities and steps finish, and their results wait.
   */
  async pause(why: Why = "paused by request"): Promise<void> {
    const at = this.#store.provider.now();
    const info = JSON.stringify({ ...whyOf(why), at });
    await this.#store.write(this.id, { kind: "pause", id: this.id, info });
  }

  /** Resumes a paused instance. It first processes the messages that arrived during the pause. */
  async resume(): Promise<void> {
    await this.#store.write(this.id, { kind: "resume", id: this.id });
  }

  /** Unblocks the instance, so that a worker runs it again. */
  async unblock(): Promise<void> {
    await this.#store.write(this.id, { kind: "unblock", id: this.id });
  }

  /**
   * Goes on at a point in the past of an ended or blocked instance, as its next execution: at the failed call, or before a
   * call or an event. What was done before is kept, and what is done again has the same idempotency key.
   */
  async rewind(options: RewindOptions): Promise<RewindReport> {
    checkRewind(options);
    return rewindInstance(this.#store, this.id, options);
  }

  /**
   * Runs an ended instance again from the start, as its next execution, with new idempotency keys: it repeats the work of
   * `completedWork()`. To go on at the failed call, use `rewind`.
   */
  async restart(options: RestartOptions = {}): Promise<void> {
    await restartInstance(this.#store, this.id, options, (execution) =>
      this.#events({ execution, limit: 1 }),
    );
  }

  /**
   * One page of the events that were sent and not yet read, oldest first. Works after the instance ended
   * too.
   */
  unread(options: UnreadOptions = {}): Promise<UnreadPage> {
    return readUnread(this.#store, this.id, options);
  }

  /** The instance with all its descendants. */
  async tree(): Promise<InstanceTree> {
    return treeOf(this.#store, await this.#store.record(this.id));
  }

  async stats(): Promise<InstanceStatistics> {
    const { key } = await this.#store.record(this.id);
    return this.#store.read((provider) => provider.readStatistics(key));
  }

  /** The events of an execution. Default: the newest execution. */
  async history(options: HistoryOptions = {}): Promise<readonly HistoryEvent[]> {
    checkHistoryOptions(options);
    return this.#events(options, { skipMissingKeys: true });
  }

  /**
   * `skipMissingKeys`: return rows unverified when the key to verify them is missing. Only for showing
   * them.
   */
  async #events(
    options: HistoryOptions,
    verifying: { readonly skipMissingKeys?: boolean } = {},
  ): Promise<readonly HistoryEvent[]> {
    const record = await this.#store.record(this.id);
    const execution = options.execution ?? record.execution;
    const reader = new HistoryReader(this.#store, record, execution);
    const part = { after: options.after ?? 0, limit: options.limit ?? Infinity };
    const rows = await reader.rows(part);
    if (rows !== null && (await reader.verify(rows, verifying))) return eventsOf(rows, part);
    const again = await this.#store.record(this.id); // throws if the instance was deleted during the read
    // The instance was deleted and its id started again: read the new instance.
    if (again.key !== record.key) return this.#events(options, verifying);
    throw incompleteHistory(this.id, execution);
  }

  /**
   * The activities, steps and children that an execution completed, by name. Default: the newest execution.
   * `restart` runs them again, with new idempotency keys.
   */
  async completedWork(
    options: { readonly execution?: number } = {},
  ): Promise<readonly CompletedWork[]> {
    checkMembers(options, COMPLETED_OPTIONS, "handle.completedWork");
    return completedWorkOf(await this.history(options));
  }

  async executions(): Promise<readonly ExecutionInfo[]> {
    const record = await this.#store.record(this.id);
    const list = await this.#store.read((provider) => provider.readExecutions(record.key));
    return executionsOf(record, list);
  }

  async #look(execution: number | undefined, until: number): Promise<Outcome | null> {
    const record = await this.#store.record(this.id, until);
    checkDefinition(record, this.#expected);
    if (execution === undefined || execution === record.execution) {
      return outcomeOf(record, this.#store.codec);
    }
    checkHistoryOptions({ execution });
    const events = await this.#events({ execution });
    const last = events.at(-1);
    if (last === undefined || execution > record.execution) {
      const message = `Instance "${this.id}" has no execution ${execution}.`;
      throw new PerdureError("INSTANCE_NOT_FOUND", message);
    }
    const outcome = outcomeOfEvent(last, record, this.#store.codec);
    if (outcome !== null) return outcome;
    const message = `Execution ${execution} of instance "${this.id}" continued as new: it has no result. Omit execution to wait for the final result.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
}

function whyOf(why: Why): { reason: string; by?: string } {
  const given: Partial<Exclude<Why, string>> | null =
    typeof why === "string" ? { reason: why } : why;
  if (typeof given === "object" && given !== null) checkMembers(given, WHY, "a reason");
  const { reason, by } = given ?? {};
  if (typeof reason !== "string" || (by !== undefined && typeof by !== "string")) {
    const message = `The reason must be a string or { reason, by }, both strings; got ${showValue(why)}.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
  return by === undefined ? { reason } : { reason, by };
}
