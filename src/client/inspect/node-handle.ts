// A handle for one node of a flow: its status and its result.
//   - A path names one run of a node: `fork.mail/send`, `refine#3/step`. A path without round numbers, or a
//        node id, names the newest run.
//   - The result comes from the history if it is there; the newest execution is searched first. The value
//        of a fork, a loop or a delay is not in the history: it needs a handle made from the flow, whose
//        interpreter computes it.
//   - node-handle.1: continueAsNew carries small results in the flow's state, so they survive pruning. Of a
//        large result the state has only a reference to its execution. If that execution was pruned,
//        `result` throws instead of waiting forever.

import { carriedResults } from "../../core/history/carried-results.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { decodeHistory } from "../../core/history/rows.ts";
import type { HistoryEvent } from "../../core/history/events.ts";
import { CancelledError } from "../../core/errors/outcome-errors.ts";
import { isTerminalStatus, type InstanceRecord } from "../../core/provider/index.ts";
import { defined } from "../../core/values/defined.ts";
import { checkDefinition, type Expected } from "../definition-check.ts";
import { failureOf, matchesNode, nodeRuns, type NodeRun, type NodeStatus } from "./node-runs.ts";
import { nodeValues } from "./node-values.ts";
import type { Store } from "../store.ts";
import { checkWait, waitUntil, type WaitOptions } from "../waiting.ts";

/** One run of a flow's node. */
export interface NodeInfo {
  readonly path: string;
  readonly kind: NodeRun["kind"];
  /** The activity, orchestration or signal. */
  readonly name: string;
  readonly status: NodeStatus;
  /**
   * The event that scheduled the run: `client.fork(id, { execution, beforeSequence: sequence })` runs it
   * again.
   */
  readonly execution: number;
  readonly sequence: number;
  /** Absent: the run has not ended, or has no attempts. */
  readonly attempts?: number;
  readonly startedAt: Date;
  readonly endedAt?: Date;
}

/** A node of a flow: `handle.node(path)`. */
export class NodeHandle<T = unknown> {
  readonly path: string;
  readonly #store: Store;
  readonly #id: string;
  readonly #flow: Expected;

  constructor(store: Store, options: { id: string; path: string; flow: Expected }) {
    this.#store = store;
    this.#id = options.id;
    this.path = options.path;
    this.#flow = options.flow;
  }

  /** Waits until the node ends. Returns its value, or rejects with its error. */
  async result(options: WaitOptions = {}): Promise<T> {
    checkWait(options, "the result of a node");
    const what = `Node "${this.path}" of instance "${this.#id}" did not end`;
    const found = await waitUntil(this.#store, this.#id, options, () => this.#look(), { what });
    return found.value as T; // The type comes from the flow that the handle was made from.
  }

  /** The newest run of the node. Undefined: the flow has not reached the node. */
  async describe(): Promise<NodeInfo | undefined> {
    const record = await this.#record();
    const found = await this.#newestRun(record);
    if (found === null) return undefined;
    const { path, kind, name, status, sequence, attempts, startedAt, endedAt } = found.run;
    return {
      path,
      kind,
      name,
      status,
      execution: found.execution,
      sequence,
      ...defined({ attempts }),
      startedAt: new Date(startedAt),
      ...(endedAt === undefined ? {} : { endedAt: new Date(endedAt) }),
    };
  }

  async #look(): Promise<{ readonly value: unknown } | null> {
    const record = await this.#record();
    const found = await this.#newestRun(record);
    if (found === null || !hasOutcomeInHistory(found.run)) {
      const value = (await this.#computed(record)) ?? (await this.#carried(record));
      if (value !== null) return value;
    } else {
      const { output, failure } = found.run;
      if (output !== undefined) return { value: this.#store.codec.decode(output) };
      if (failure !== undefined) throw failureOf(found.run, failure, this.#store.codec);
      if (found.run.status === "cancelled")
        throw new CancelledError(`node "${found.run.path}" was cancelled`);
    }
    if (!isTerminalStatus(record.status)) return null;
    const message = `Instance "${this.#id}" has ended (${record.status}) and has no result of node "${this.path}".`;
    throw new PerdureError("INSTANCE_FINISHED", message);
  }

  async #record(): Promise<InstanceRecord> {
    const record = await this.#store.record(this.#id);
    checkDefinition(record, this.#flow);
    return record;
  }

  async #newestRun(record: InstanceRecord): Promise<{ run: NodeRun; execution: number } | null> {
    for (let execution = record.execution; execution > 0; execution--) {
      const runs = nodeRuns(await this.#events(record, execution));
      const run = newest(runs, this.path);
      if (run !== undefined) return { run, execution };
    }
    return null;
  }

  /** The value that the flow's interpreter computes for the node. Null: no value yet. */
  async #computed(record: InstanceRecord): Promise<{ value: unknown } | null> {
    const definition = this.#flow;
    if (definition === null) return null;
    const store = this.#store;
    for (let execution = record.execution; execution > 0; execution--) {
      const events = await this.#events(record, execution);
      const values = await nodeValues({ store, definition, record, execution, events });
      const path = [...values.keys()].findLast((each) => matchesNode(each, this.path));
      if (path !== undefined) return { value: values.get(path) };
    }
    return null;
  }

  /**
   * The value that continueAsNew carried in the flow's state (node-handle.1). Null: the state has no such
   * node.
   */
  async #carried(record: InstanceRecord): Promise<{ value: unknown } | null> {
    const events = await this.#events(record, record.execution);
    const all = carriedResults(events, this.#store.codec);
    const [path, found] = all.findLast(([each]) => matchesNode(each, this.path)) ?? [];
    if (found === undefined || "value" in found) return found ?? null;
    if ((await this.#events(record, found.execution)).length > 0) return null;
    const message = `The result of node "${path}" of instance "${this.#id}" was in execution ${found.execution}, which was pruned. Results over 256 KiB in total stay in the execution that produced them. Keep more executions, or let the node return a reference.`;
    throw new PerdureError("INSTANCE_NOT_FOUND", message);
  }

  async #events(record: InstanceRecord, execution: number): Promise<readonly HistoryEvent[]> {
    const address = { key: record.key, execution };
    const rows = await this.#store.read((provider) => provider.readHistory(address));
    this.#store.verifyRows(record, execution, rows);
    return decodeHistory(rows);
  }
}

/** Prefers an exact path, and the node's call over the timer of its timeout. */
function newest(runs: readonly NodeRun[], path: string): NodeRun | undefined {
  const exact = runs.filter((run) => run.path === path);
  const meant = exact.length > 0 ? exact : runs.filter((run) => matchesNode(run.path, path));
  return meant.findLast(({ kind }) => kind !== "timer") ?? meant.at(-1);
}

/** False for a delay and for a wait that timed out: the interpreter computes their values. */
function hasOutcomeInHistory(run: NodeRun): boolean {
  return run.kind !== "timer" && !(run.kind === "event" && run.status === "cancelled");
}
