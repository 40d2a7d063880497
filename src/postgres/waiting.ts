// Waiting: the heads of the queues, one a kind, and who holds how much.
//   WA1. One look-up a cut: the cost grows with the kinds of work that wait, not with their number.
//   WA2. Only what could be taken now counts: not what is held, paused, blocked or due later.

import type { LoadRecord, WaitingRecord } from "../core/provider/admin.ts";
import { integer, text, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { allCuts } from "./cuts.ts";
import { FREE, takeable } from "./due-instances.ts";
import { Pipeline, type Statement } from "./pipeline.ts";
import { CUT, IN_CUT, OF_SESSIONS, PLAIN } from "./task-cuts.ts";
import { tagsOf } from "./task-rows.ts";
import { probe } from "./probing.ts";

/** Due messages a cut whose instances are looked at: the first may belong to what is held or paused. */
const LOOKS = 100;

export class WaitingReport {
  readonly #connection: Connection;
  readonly #tasks: Statement;
  readonly #instances: Statement;
  readonly #loads: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    const cuts = (name: string, condition: string): string =>
      allCuts(name, { table: "@tasks", condition, columns: CUT, carried: ["tags"] });
    const first = (name: string, condition: string): string => `
      SELECT c.name, c.tags, (
        SELECT min(r.available_at) FROM @tasks AS r WHERE ${condition} AND ${IN_CUT}) AS at
      FROM ${name} AS c`;
    this.#tasks = connection.prepare(`
      WITH RECURSIVE ${cuts("plain", PLAIN)}, ${cuts("bound", OF_SESSIONS)}
      SELECT w.name, array_to_json(w.tags)::text AS tags, min(w.at) AS at FROM (
        ${first("plain", PLAIN)} UNION ALL ${first("bound", OF_SESSIONS)}
      ) AS w WHERE w.at <= (SELECT @clock()) GROUP BY w.name, w.tags`);
    const inbox = { table: "@inbox", condition: "NOT r.parked", columns: ["target", "priority"] };
    // Nobody asks: who is blocked for somebody is blocked for the report.
    this.#instances = connection.prepare(`
      WITH RECURSIVE ${allCuts("cuts", inbox)}
      SELECT w.target, min(w.at) AS at FROM (
        SELECT c.target, (
          SELECT min(due.visible_at) FROM (
            SELECT m.instance, m.visible_at FROM @inbox AS m
            WHERE NOT m.parked AND m.target = c.target AND m.priority = c.priority
              AND m.visible_at <= (SELECT @clock())
            ORDER BY m.visible_at LIMIT ${LOOKS}
          ) AS due
          JOIN @instances AS i ON ${probe("i.key", "due.instance")}
          WHERE ${FREE} AND ${takeable("'['")}) AS at
        FROM cuts AS c
      ) AS w WHERE w.at IS NOT NULL GROUP BY w.target`);
    this.#loads = connection.prepare(`
      SELECT l.owner, sum(l.instances) AS instances, sum(l.tasks) AS tasks FROM (
        SELECT lease_owner AS owner, count(*) AS instances, 0 AS tasks FROM @instances
        WHERE lease_owner IS NOT NULL GROUP BY lease_owner
        UNION ALL
        SELECT lease_owner, 0, count(*) FROM @tasks
        WHERE lease_owner IS NOT NULL GROUP BY lease_owner
      ) AS l GROUP BY l.owner ORDER BY l.owner`);
  }

  async read(): Promise<readonly WaitingRecord[]> {
    const pipeline = new Pipeline();
    const tasks = pipeline.add(this.#tasks);
    const instances = pipeline.add(this.#instances);
    await this.#connection.look(pipeline);
    return [...tasks.rows.map(toTask), ...instances.rows.map(toInstance)];
  }

  async loads(): Promise<readonly LoadRecord[]> {
    return (await this.#connection.readOnce(this.#loads)).map((row) => ({
      owner: text(row, "owner"),
      instances: integer(row, "instances"),
      tasks: integer(row, "tasks"),
    }));
  }
}

function toTask(row: Row): WaitingRecord {
  return {
    kind: "task",
    name: text(row, "name"),
    tags: tagsOf(row) ?? [],
    oldestAt: integer(row, "at"),
  };
}

function toInstance(row: Row): WaitingRecord {
  return { kind: "instance", target: text(row, "target"), oldestAt: integer(row, "at") };
}
