// Pruning: the histories of ended executions, when nobody wants to read them any more (AD4).
//   PR1. The newest execution stays, and with it everything that belongs to the instance.
//   PR2. An execution whose end cannot be read stays too, when it is the time of its end that decides.

import type { StatementSync } from "node:sqlite";
import type { PruneRequest, Removed } from "../core/provider/admin.ts";
import type { ExecutionRecord } from "../core/provider/instances.ts";
import type { Connection } from "./connection.ts";
import type { History } from "./history.ts";
import type { Instances } from "./instances.ts";

export class Pruning {
  readonly #connection: Connection;
  readonly #instances: Instances;
  readonly #history: History;
  readonly #delete: StatementSync;
  readonly #count: StatementSync;

  constructor(connection: Connection, instances: Instances, history: History) {
    this.#connection = connection;
    this.#instances = instances;
    this.#history = history;
    this.#delete = connection.prepare("DELETE FROM history WHERE instance = ? AND execution = ?");
    this.#count = connection.prepare(
      "UPDATE instances SET past_executions = ?, past_events = ? WHERE key = ?",
    );
  }

  /** Null: there is no such instance. */
  prune({ id, keepLast = 1, completedBefore }: PruneRequest): Promise<Removed | null> {
    return this.#connection.write(() => {
      const found = this.#instances.find(id);
      if (found === null) return null;
      const { key, execution: newest } = found;
      const past = this.#history.readExecutions(key).filter((past) => past.execution < newest);
      const among = past.slice(0, Math.max(past.length - Math.max(keepLast - 1, 0), 0));
      const gone = new Set(among.filter((past) => endedBefore(past, completedBefore)));
      for (const { execution } of gone) this.#delete.run(key, execution);
      const left = past.filter((execution) => !gone.has(execution));
      if (gone.size > 0) this.#count.run(left.length, eventsOf(left), key);
      return { instances: 0, executions: gone.size, events: eventsOf([...gone]), messages: 0 };
    });
  }
}

function endedBefore({ lastAt }: ExecutionRecord, time: number | undefined): boolean {
  return time === undefined || (lastAt > 0 && lastAt < time);
}

function eventsOf(executions: readonly ExecutionRecord[]): number {
  return executions.reduce((events, { lastEvent }) => events + lastEvent, 0);
}
