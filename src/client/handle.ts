// A handle: one instance, from the outside.
//   HD1. Nothing is assumed about who runs the instance: every call goes to the store.
//   HD2. `result` follows continueAsNew and restart unless an execution is named.

import type { RaiseArguments } from "../core/context-types.ts";
import type { EventDef } from "../core/definitions.ts";
import { PerdureError } from "../core/errors.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { checkChoice, checkMembers, checkWhole, type Members } from "../core/known-members.ts";
import { parseName, parseRequestId } from "../core/ids.ts";
import type { InstanceStatistics } from "../core/provider/index.ts";
import { makeUpRequestId } from "../core/request-ids.ts";
import { validate } from "../core/standard-schema.ts";
import { cancelRequest } from "../core/turn-effects.ts";
import { completedWorkOf, type CompletedWork } from "./completed-work.ts";
import { checkDefinition, type Expected } from "./definition-check.ts";
import { describeRecord } from "./describe.ts";
import { HandleKeyValues } from "./handle-kv.ts";
import { ended } from "../core/endings.ts";
import { executionsOf, type ExecutionInfo } from "./executions.ts";
import {
  checkHistoryOptions,
  historyPart,
  incompleteHistory,
  reaches,
  type HistoryOptions,
} from "./history-part.ts";
import type { InstanceInfo } from "./instance-info.ts";
import { NodeHandle } from "./node-handle.ts";
import { outcomeOf, outcomeOfEvent, type Outcome } from "./outcome.ts";
import { digestOf } from "./request-digest.ts";
import { restartInstance } from "./restart.ts";
import type { Store } from "./store.ts";
import { treeOf, type InstanceTree } from "./tree.ts";
import { readUnread, type UnreadOptions, type UnreadPage } from "./unread.ts";
import { checkSignal, checkWait, waitUntil, type WaitOptions } from "./waiting.ts";
import { watchInstance } from "./watch.ts";

/** How `handle.result()` waits. */
export interface ResultOptions extends WaitOptions {
  readonly execution?: number;
}
/** A reason, and who gave it. */
export type Why = string | { readonly reason: string; readonly by?: string };
/** What `raise` may be told about one event. */
export interface RaiseOptions {
  /** A repeated call with the same id raises once. */
  readonly requestId?: string;
  /** As for `start`: the same request id with another digest is `KEY_REUSED`. */
  readonly requestDigest?: string;
  /** "keep": a message for an id that does not exist yet waits for its start. Default "fail". */
  readonly ifMissing?: "fail" | "keep";
  /** A transaction of yours on the store's own database, as for `start`: the event is raised when you commit it. */
  readonly tx?: object;
}

const RAISE_OPTIONS: Members<RaiseOptions> = {
  requestId: true,
  requestDigest: true,
  ifMissing: true,
  tx: true,
};
const WATCH_OPTIONS = { signal: true } as const;
const COMPLETED_OPTIONS = { execution: true } as const;
const RESTART_OPTIONS = { requestId: true } as const;
const WHY = { reason: true, by: true } as const;

/** One instance, seen from outside, whoever runs it. Everything on it asks the store. */
export class Handle<O = unknown, Nodes = Record<never, never>> {
  readonly id: string;
  /** The instance's key-values. */
  readonly kv: HandleKeyValues;
  readonly #store: Store;
  readonly #expected: Expected;

  constructor(store: Store, id: string, expected: Expected = null) {
    this.id = id;
    this.#store = store;
    this.#expected = expected;
    this.kv = new HandleKeyValues(store, id);
  }

  /** Waits for the end and returns the value, or rejects with OrchestrationError. */
  async result(options: ResultOptions = {}): Promise<O> {
    checkWait(options, "handle.result", { execution: true });
    checkWhole(options.execution, 1, "execution");
    const outcome = await this.#outcome(options);
    if (outcome.kind === "error") throw outcome.error;
    return outcome.value as O; // typed by the definition the handle was made from
  }

  /** A node of a flow: by its path, by its path without round numbers, or by its id. */
  node<Path extends keyof Nodes & string>(path: Path): NodeHandle<Nodes[Path]>;
  node(path: string): NodeHandle;
  node(path: string): NodeHandle {
    if (typeof path !== "string" || path === "") {
      throw new PerdureError("INVALID_ARGUMENT", "A node's path is a text that is not empty.");
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

  /** Every state of the instance as it comes, until its end or the signal's, whose reason is thrown. */
  watch(
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<InstanceInfo, void, undefined> {
    checkMembers(options, WATCH_OPTIONS, "handle.watch");
    checkSignal(options.signal);
    return watchInstance(this.#store, this.id, options.signal);
  }

  /** Sends an event; it is kept until the instance reads it. */
  async raise<E extends EventDef<unknown, never> | string>(
    event: E,
    ...rest: RaiseArguments<E, RaiseOptions>
  ): Promise<void> {
    const [data, options = {}]: [data?: unknown, options?: RaiseOptions] = rest;
    checkMembers(options, RAISE_OPTIONS, "raise");
    checkChoice(options.ifMissing, ["fail", "keep"], "ifMissing");
    const name = parseName(typeof event === "string" ? event : event?.name, "event name");
    const schema = typeof event === "string" ? undefined : event.schema;
    const checked = schema === undefined ? data : await validate(schema, data, `event "${name}"`);
    const { environment } = this.#store.provider;
    const requestId =
      options.requestId === undefined
        ? makeUpRequestId(environment)
        : parseRequestId(options.requestId);
    const item = {
      kind: "send",
      id: this.id,
      name,
      data: this.#store.codec.encode(checked),
      requestId,
      ...digestOf(options),
      ifMissing: options.ifMissing ?? "fail",
    } as const;
    if (options.tx === undefined) await this.#store.write(this.id, item);
    else await this.#store.sendWithin(options.tx, item);
  }

  /** Asks the instance to end; its code may clean up. */
  async cancel(why: Why = "cancelled by request"): Promise<void> {
    const { reason, by } = whyOf(why);
    await this.#store.write(this.id, {
      kind: "cancel",
      id: this.id,
      request: JSON.stringify(cancelRequest(reason, by)),
      cancelled: JSON.stringify(ended("cancelled", `canceled: ${reason}`)),
    });
  }

  /** Ends the instance at once, without running its code. */
  async terminate(why: Why = "terminated by request"): Promise<void> {
    const { reason, by } = whyOf(why);
    const data = by === undefined ? undefined : this.#store.codec.encode({ by });
    await this.#store.write(this.id, {
      kind: "terminate",
      id: this.id,
      status: "terminated",
      terminated: JSON.stringify(ended("terminated", `terminated: ${reason}`, data)),
      childRequest: JSON.stringify(cancelRequest(reason, "parent")),
    });
  }

  /** No further turn runs; what is under way finishes and its results wait. */
  async pause(why: Why = "paused by request"): Promise<void> {
    const at = this.#store.provider.now();
    const info = JSON.stringify({ ...whyOf(why), at });
    await this.#store.write(this.id, { kind: "pause", id: this.id, info });
  }

  /** Lets a paused instance go on; it takes first what waited. */
  async resume(): Promise<void> {
    await this.#store.write(this.id, { kind: "resume", id: this.id });
  }

  /** Takes a block away, so that whoever runs the orchestration tries again. */
  async unblock(): Promise<void> {
    await this.#store.write(this.id, { kind: "unblock", id: this.id });
  }

  /** Runs an ended instance again with the same input, as its next execution. A repeated request id does it once. */
  async restart(options: { readonly requestId?: string } = {}): Promise<void> {
    checkMembers(options, RESTART_OPTIONS, "handle.restart");
    const requestId = options.requestId === undefined ? null : parseRequestId(options.requestId);
    const record = await this.#store.record(this.id);
    const first = await this.#firstEvent(record.execution);
    // A repeated call may find the execution that the first one began, before its first turn.
    const known = first === undefined && requestId !== null && record.execution > 1;
    const from = known ? await this.#firstEvent(record.execution - 1) : first;
    await restartInstance(this.#store, record, from, requestId);
  }

  async #firstEvent(execution: number): Promise<HistoryEvent | undefined> {
    return (await this.#events({ execution, limit: 1 }))[0];
  }

  /** Events that were sent and not read, oldest first, a page at a time; also after the end. */
  unread(options: UnreadOptions = {}): Promise<UnreadPage> {
    return readUnread(this.#store, this.id, options);
  }

  /** The instance, its children and theirs. */
  async tree(): Promise<InstanceTree> {
    return treeOf(this.#store, await this.#store.record(this.id));
  }

  async stats(): Promise<InstanceStatistics> {
    const { key } = await this.#store.record(this.id);
    return this.#store.read((provider) => provider.readStatistics(key));
  }

  /** The events of an execution; the newest one unless another is named. */
  async history(options: HistoryOptions = {}): Promise<readonly HistoryEvent[]> {
    checkHistoryOptions(options);
    return this.#events(options, { skipMissingKeys: true });
  }

  /** Of rows that nothing can be decided by, `skipMissingKeys` shows what it can. */
  async #events(
    options: HistoryOptions,
    verifying: { readonly skipMissingKeys?: boolean } = {},
  ): Promise<readonly HistoryEvent[]> {
    const record = await this.#store.record(this.id);
    const execution = options.execution ?? record.execution;
    const address = { key: record.key, execution };
    const rows = await this.#store.read((provider) => provider.readHistory(address));
    if (!reaches(rows, execution === record.execution ? record.lastEvent : 0)) {
      const again = await this.#store.record(this.id); // or it is gone, and says so
      if (again.key !== record.key) return this.#events(options, verifying); // a namesake has taken its place
      throw incompleteHistory(this.id, execution);
    }
    return historyPart(rows, options, (within) =>
      this.#store.verifyRows(record, execution, rows, { ...verifying, within }),
    );
  }

  /**
   * The activities, steps and children that an execution completed, by name; of the newest execution unless another is
   * named. `restart` runs them again, under new idempotency keys.
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

  #outcome(options: ResultOptions): Promise<Outcome> {
    const look = (until: number): Promise<Outcome | null> => this.#look(options.execution, until);
    return waitUntil(this.#store, this.id, options, look, `Instance "${this.id}" did not end`);
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
    const outcome = outcomeOfEvent(last, this.#store.codec);
    if (outcome !== null) return outcome;
    const message = `Execution ${execution} of "${this.id}" continued as new: it has no result.`;
    throw new PerdureError("INVALID_ARGUMENT", message);
  }
}

function whyOf(why: Why): { reason: string; by?: string } {
  const given: Partial<Exclude<Why, string>> | null =
    typeof why === "string" ? { reason: why } : why;
  if (typeof given === "object" && given !== null) checkMembers(given, WHY, "a reason");
  const { reason, by } = given ?? {};
  if (typeof reason !== "string" || (by !== undefined && typeof by !== "string")) {
    throw new PerdureError(
      "INVALID_ARGUMENT",
      "A reason is a text, or { reason, by } of two texts.",
    );
  }
  return by === undefined ? { reason } : { reason, by };
}
