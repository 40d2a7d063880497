// Queues: how many tasks wait and run, kind by kind.
//   Q1. A kind is a name, a set of tags, which is stored in order, and a priority.
//   Q2. A task whose lease ran out runs until somebody takes it over: its owner may still finish it.

import type { QueueRecord } from "../core/provider/admin.ts";
import { integer, integerOrNull, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Statement } from "./pipeline.ts";
import { tagsOf } from "./task-rows.ts";

export class Queues {
  readonly #connection: Connection;
  readonly #select: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#select = connection.prepare(`
      SELECT t.name, array_to_json(t.tags)::text AS tags, t.priority,
        count(*) FILTER (WHERE t.lease_owner IS NULL AND t.available_at <= now.at) AS waiting,
        count(*) FILTER (WHERE t.lease_owner IS NOT NULL) AS running,
        count(*) FILTER (WHERE t.lease_owner IS NULL AND t.available_at > now.at) AS delayed,
        min(t.available_at) FILTER (WHERE t.lease_owner IS NULL AND t.available_at <= now.at)
          AS oldest
      FROM @tasks AS t CROSS JOIN (SELECT @clock() AS at) AS now
      GROUP BY t.name, t.tags, t.priority ORDER BY t.name, t.tags, t.priority`);
  }

  async read(): Promise<readonly QueueRecord[]> {
    return (await this.#connection.readOnce(this.#select)).map(toQueue);
  }
}

function toQueue(row: Row): QueueRecord {
  return {
    name: text(row, "name"),
    tags: tagsOf(row) ?? [],
    priority: integer(row, "priority"),
    waiting: integer(row, "waiting"),
    running: integer(row, "running"),
    delayed: integer(row, "delayed"),
    oldestAvailableAt: integerOrNull(row, "oldest"),
  };
}
