// Pruning: the histories of ended executions, when nobody wants to read them any more (AD4).
//   PR1. The newest execution stays, and with it everything that belongs to the instance.
//   PR2. An execution whose end cannot be read stays too, when it is the time of its end that decides.

import type { PruneRequest, Removed } from "../core/provider/admin.ts";
import type { ExecutionRecord } from "../core/provider/instances.ts";
import { plain } from "./column-arrays.ts";
import { told, type Connection } from "./connection.ts";
import type { History } from "./history.ts";
import type { Instances } from "./instances.ts";
import { Pipeline, type Statement } from "./pipeline.ts";

export class Pruning {
  readonly #connection: Connection;
  readonly #instances: Instances;
  readonly #history: History;
  readonly #delete: Statement;
  readonly #count: Statement;

  constructor(connection: Connection, instances: Instances, history: History) {
    this.#connection = connection;
    this.#instances = instances;
    this.#history = history;
    this.#delete = connection.prepare(
      "DELETE FROM @history WHERE instance = $1 AND execution = ANY ($2::bigint[])",
    );
    this.#count = connection.prepare(
      "UPDATE @instances SET past_executions = $1, past_events = $2 WHERE key = $3",
    );
  }

  /** Null: there is no such instance. */
  prune({ id, keepLast = 1, completedBefore }: PruneRequest): Promise<Removed | null> {
    const pruned = this.#connection.transact({}, async (statements) => {
      const found = await this.#instances.find(statements, id);
      if (found === null) return null;
      const { key, execution: newest } = found;
      const all = await this.#history.readExecutions(key, statements);
      const past = all.filter(({ execution }) => execution < newest);
      const among = past.slice(0, Math.max(past.length - Math.max(keepLast - 1, 0), 0));
      const gone = new Set(among.filter((execution) => endedBefore(execution, completedBefore)));
      const left = past.filter((execution) => !gone.has(execution));
      const pipeline = new Pipeline();
      if (gone.size > 0) {
        pipeline.add(this.#delete, [key, plain([...gone].map(({ execution }) => execution))]);
        pipeline.add(this.#count, [left.length, eventsOf(left), key]);
      }
      await statements.all(pipeline);
      return { instances: 0, executions: gone.size, events: eventsOf([...gone]), messages: 0 };
    });
    return told(pruned);
  }
}

function endedBefore({ lastAt }: ExecutionRecord, time: number | undefined): boolean {
  return time === undefined || (lastAt > 0 && lastAt < time);
}

function eventsOf(executions: readonly ExecutionRecord[]): number {
  return executions.reduce((events, { lastEvent }) => events + lastEvent, 0);
}
