// Waiting: the heads of the queues, one a kind, and who holds how much.
//   WA1. One look-up a cut: the cost grows with the kinds of work that wait, not with their number (C1 of cuts.ts).
//   WA2. Only what could be taken now counts: not what is held, paused, blocked or due later.

import type { StatementSync } from "node:sqlite";
import type { LoadRecord, WaitingRecord } from "../core/provider/admin.ts";
import { integer, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { allCuts } from "./cuts.ts";
import { FREE, TAKEABLE } from "./due-instances.ts";
import { tagsOf } from "./task-rows.ts";

/** Due messages a cut whose instances are looked at: the first may belong to what is held or paused. */
const LOOKS = 100;

export class WaitingReport {
  readonly #connection: Connection;
  readonly #tasks: StatementSync;
  readonly #instances: StatementSync;
  readonly #loads: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    const free = "lease_owner IS NULL";
    const cuts = (name: string, session: string): string =>
      allCuts(name, "tasks", `${free} AND session ${session}`, ["suspect", "name", "tags"]);
    const first = (name: string, session: string): string => `
      SELECT name, tags, (
        SELECT min(available_at) FROM tasks AS t
        WHERE t.lease_owner IS NULL AND t.session ${session} AND t.suspect = cut.suspect
          AND t.name = cut.name AND t.tags = cut.tags) AS at
      FROM ${name} AS cut`;
    this.#tasks = connection.prepare(`
      WITH RECURSIVE ${cuts("plain", "IS NULL")}, ${cuts("bound", "IS NOT NULL")}
      SELECT name, tags, min(at) AS at FROM (
        ${first("plain", "IS NULL")} UNION ALL ${first("bound", "IS NOT NULL")})
      WHERE at <= ?1 GROUP BY name, tags`);
    this.#instances = connection.prepare(`
      WITH RECURSIVE ${allCuts("cuts", "inbox", "parked = 0", ["target", "priority"])}
      SELECT cut.target AS target, min((
        SELECT min(due.visible_at) FROM (
          SELECT m.instance, m.visible_at FROM inbox AS m
          WHERE m.parked = 0 AND m.target = cut.target AND m.priority = cut.priority
            AND m.visible_at <= ?1
          ORDER BY m.visible_at LIMIT ${LOOKS}) AS due
        CROSS JOIN instances ON instances.key = due.instance
        WHERE ${FREE} AND ${TAKEABLE})) AS at
      FROM cuts AS cut GROUP BY cut.target HAVING at IS NOT NULL`);
    this.#loads = connection.prepare(`
      SELECT owner, sum(instances) AS instances, sum(tasks) AS tasks FROM (
        SELECT lease_owner AS owner, count(*) AS instances, 0 AS tasks FROM instances
        WHERE lease_owner IS NOT NULL GROUP BY lease_owner
        UNION ALL
        SELECT lease_owner, 0, count(*) FROM tasks
        WHERE lease_owner IS NOT NULL GROUP BY lease_owner)
      GROUP BY owner ORDER BY owner`);
  }

  read(): Promise<readonly WaitingRecord[]> {
    return this.#connection.read(() => {
      const now = this.#connection.now();
      const tasks = this.#tasks.all(now).map(toTask);
      // ?3 is an owner that nobody is: who is blocked for somebody is blocked for the report.
      return [...tasks, ...this.#instances.all(now, "", "[").map(toInstance)];
    });
  }

  loads(): Promise<readonly LoadRecord[]> {
    return this.#connection.read(() =>
      this.#loads.all().map((row) => ({
        owner: text(row, "owner"),
        instances: integer(row, "instances"),
        tasks: integer(row, "tasks"),
      })),
    );
  }
}

function toTask(row: Row): WaitingRecord {
  const tags = tagsOf(text(row, "tags")) ?? [];
  return { kind: "task", name: text(row, "name"), tags, oldestAt: integer(row, "at") };
}

function toInstance(row: Row): WaitingRecord {
  return { kind: "instance", target: text(row, "target"), oldestAt: integer(row, "at") };
}
