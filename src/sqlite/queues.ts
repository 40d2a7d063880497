// Queues: how many tasks wait and run, kind by kind.
//   Q1. A kind is a name, a set of tags and a priority; the order of the tags means nothing.

import type { StatementSync } from "node:sqlite";
import type { QueueRecord } from "../core/provider/admin.ts";
import { integer, integerOrNull, json, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";

export class Queues {
  readonly #connection: Connection;
  readonly #select: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#select = connection.prepare(`
      SELECT name, iif(tags = '', '[]', tags) AS tags, priority,
        count(*) FILTER (WHERE lease_owner IS NULL AND available_at <= ?1) AS waiting,
        count(*) FILTER (WHERE lease_owner IS NOT NULL) AS running,
        count(*) FILTER (WHERE lease_owner IS NULL AND available_at > ?1) AS delayed,
        min(available_at) FILTER (WHERE lease_owner IS NULL AND available_at <= ?1) AS oldest
      FROM tasks GROUP BY name, priority, 2 ORDER BY name, priority, 2`);
  }

  read(): Promise<readonly QueueRecord[]> {
    return this.#connection.read(() => {
      const queues = new Map<string, QueueRecord>();
      for (const row of this.#select.all(this.#connection.now())) {
        const queue = toQueue(row);
        const kind = JSON.stringify([queue.name, queue.priority, queue.tags]);
        const same = queues.get(kind);
        queues.set(kind, same === undefined ? queue : together(same, queue));
      }
      return [...queues.values()];
    });
  }
}

function toQueue(row: Row): QueueRecord {
  return {
    name: text(row, "name"),
    tags: (json(row, "tags", isTextList) ?? []).toSorted(),
    priority: integer(row, "priority"),
    waiting: integer(row, "waiting"),
    running: integer(row, "running"),
    delayed: integer(row, "delayed"),
    oldestAvailableAt: integerOrNull(row, "oldest"),
  };
}

function together(a: QueueRecord, b: QueueRecord): QueueRecord {
  const times = [a.oldestAvailableAt, b.oldestAvailableAt].filter((time) => time !== null);
  return {
    ...a,
    waiting: a.waiting + b.waiting,
    running: a.running + b.running,
    delayed: a.delayed + b.delayed,
    oldestAvailableAt: times.length === 0 ? null : Math.min(...times),
  };
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === "string");
}
