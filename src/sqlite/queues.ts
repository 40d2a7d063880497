// Queues: how many tasks wait and run, kind by kind.
//   Q1. A kind is a name, a set of tags, which is stored in order, and a priority.
//   Q2. A task whose lease ran out runs until somebody takes it over: its owner may still finish it.

import type { StatementSync } from "node:sqlite";
import type { QueueRecord } from "../core/provider/admin.ts";
import { integer, integerOrNull, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { tagsOf } from "./task-rows.ts";

export class Queues {
  readonly #connection: Connection;
  readonly #select: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#select = connection.prepare(`
      SELECT name, tags, priority,
        count(*) FILTER (WHERE lease_owner IS NULL AND available_at <= ?1) AS waiting,
        count(*) FILTER (WHERE lease_owner IS NOT NULL) AS running,
        count(*) FILTER (WHERE lease_owner IS NULL AND available_at > ?1) AS delayed,
        min(available_at) FILTER (WHERE lease_owner IS NULL AND available_at <= ?1) AS oldest
      FROM tasks GROUP BY name, tags, priority ORDER BY name, tags, priority`);
  }

  read(): Promise<readonly QueueRecord[]> {
    return this.#connection.read(() => this.#select.all(this.#connection.now()).map(toQueue));
  }
}

function toQueue(row: Row): QueueRecord {
  return {
    name: text(row, "name"),
    tags: tagsOf(text(row, "tags")) ?? [],
    priority: integer(row, "priority"),
    waiting: integer(row, "waiting"),
    running: integer(row, "running"),
    delayed: integer(row, "delayed"),
    oldestAvailableAt: integerOrNull(row, "oldest"),
  };
}
