// A node of a flow that is running or has run, from the outside.
//   NH1. A path names one run of a node: `fork.mail/send`, `refine#3/step`. Without round numbers, or as a plain id, it
//        names the newest run there is.
//   NH2. What a history tells is taken from there, newest execution first. What only the interpreter knows (the value
//        of a fork, a loop, a delay) needs the flow: a handle made from it.
//   NH3. If executions were pruned, the flow's state still has the results that travel with it. A result that the
//        state only points to is gone with its execution: that is an error, not something to wait for.

import { carriedResults } from "../core/carried-results.ts";
import { PerdureError } from "../core/errors.ts";
import { decodeHistory } from "../core/history-row.ts";
import type { HistoryEvent } from "../core/history-events.ts";
import { CancelledError } from "../core/outcome-errors.ts";
import { isTerminalStatus, type InstanceRecord } from "../core/provider/index.ts";
import { checkDefinition, type Expected } from "./definition-check.ts";
import { failureOf, isMeant, nodeRuns, type NodeRun, type NodeStatus } from "./node-runs.ts";
import { nodeValues } from "./node-values.ts";
import type { Store } from "./store.ts";
import { checkWait, waitUntil, type WaitOptions } from "./waiting.ts";

/** What is known of one run of a flow's node. */
export interface NodeInfo {
  readonly path: string;
  readonly kind: NodeRun["kind"];
  /** The activity, orchestration or signal. */
  readonly name: string;
  readonly status: NodeStatus;
  /** Where it was asked for: `client.fork(id, { execution, beforeSequence: sequence })` runs it anew. */
  readonly execution: number;
  readonly sequence: number;
  readonly attempts?: number;
  readonly startedAt: Date;
  readonly endedAt?: Date;
}

/** A node of a flow that runs or has run: `handle.node(path)`. */
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

  /** Waits until the node has ended and returns its value, or rejects with its error. */
  async result(options: WaitOptions = {}): Promise<T> {
    checkWait(options, "the result of a node");
    const what = `Node "${this.path}" of "${this.#id}" did not end`;
    const found = await waitUntil(this.#store, this.#id, options, () => this.#look(), what);
    return found.value as T; // typed by the flow that the handle was made from
  }

  /** Where the newest run of the node stands; undefined: it has not been reached. */
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
      ...(attempts === undefined ? {} : { attempts }),
      startedAt: new Date(startedAt),
      ...(endedAt === undefined ? {} : { endedAt: new Date(endedAt) }),
    };
  }

  async #look(): Promise<{ readonly value: unknown } | null> {
    const record = await this.#record();
    const found = await this.#newestRun(record);
    if (found === null || !isTold(found.run)) {
      const value = (await this.#workedOut(record)) ?? (await this.#carried(record));
      if (value !== null) return value;
    } else {
      const { output, failure } = found.run;
      if (output !== undefined) return { value: this.#store.codec.decode(output) };
      if (failure !== undefined) throw failureOf(found.run, failure, this.#store.codec);
      if (found.run.status === "cancelled")
        throw new CancelledError(`node "${found.run.path}" was cancelled`);
    }
    if (!isTerminalStatus(record.status)) return null;
    throw new PerdureError(
      "INSTANCE_FINISHED",
      `Instance "${this.#id}" has ended (${record.status}) and has no result of node "${this.path}".`,
    );
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

  /** The value of a node that no event tells; null: there is none yet. */
  async #workedOut(record: InstanceRecord): Promise<{ value: unknown } | null> {
    const definition = this.#flow;
    if (definition === null) return null;
    const { environment } = this.#store.provider;
    const { codec } = this.#store;
    for (let execution = record.execution; execution > 0; execution--) {
      const events = await this.#events(record, execution);
      const values = await nodeValues({
        definition,
        record,
        execution,
        events,
        codec,
        environment,
      });
      const path = [...values.keys()].findLast((each) => isMeant(each, this.path));
      if (path !== undefined) return { value: values.get(path) };
    }
    return null;
  }

  /** NH3. The value that came with the flow's state; null: the state does not name the node. */
  async #carried(record: InstanceRecord): Promise<{ value: unknown } | null> {
    const events = await this.#events(record, record.execution);
    const all = carriedResults(events, this.#store.codec);
    const [path, found] = all.findLast(([each]) => isMeant(each, this.path)) ?? [];
    if (found === undefined || "value" in found) return found ?? null;
    if ((await this.#events(record, found.execution)).length > 0) return null;
    const message = `The result of node "${path}" of "${this.#id}" was in execution ${found.execution}, which was pruned. Results of more than 256 KiB in total stay in the execution that made them: keep more executions, or let the node return a reference.`;
    throw new PerdureError("INSTANCE_NOT_FOUND", message);
  }

  async #events(record: InstanceRecord, execution: number): Promise<readonly HistoryEvent[]> {
    const address = { key: record.key, execution };
    const rows = await this.#store.read((provider) => provider.readHistory(address));
    this.#store.verifyRows(record, execution, rows);
    return decodeHistory(rows);
  }
}

/** An exact path first; a node's own call before the timer that bounds it. */
function newest(runs: readonly NodeRun[], path: string): NodeRun | undefined {
  const exact = runs.filter((run) => run.path === path);
  const meant = exact.length > 0 ? exact : runs.filter((run) => isMeant(run.path, path));
  return meant.findLast(({ kind }) => kind !== "timer") ?? meant.at(-1);
}

/** Whether its events say what it gave: not those of a delay, nor of a wait whose time was over. */
function isTold(run: NodeRun): boolean {
  return run.kind !== "timer" && !(run.kind === "event" && run.status === "cancelled");
}
