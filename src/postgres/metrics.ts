// Metrics: figures for the whole store.
//   M1. Figures of instances are sums of tallies, which triggers keep (0008-tallies.sql): neither instances nor
//       history are read, however many there are.
//   M2. Due messages are counted cut by cut, so that timers of the far future cost nothing; then the events that are
//       parked behind the oldest one of a live instance (I3 of inbox.ts).

import type { StoreMetrics } from "../core/provider/admin.ts";
import { sumOf } from "../core/provider/tallies.ts";
import { integer, only } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { allCuts } from "./cuts.ts";
import { LIVES } from "./delivery.ts";
import { Pipeline, type Statement } from "./pipeline.ts";
import { toTally } from "./tallies.ts";

export class Metrics {
  readonly #connection: Connection;
  readonly #selectTallies: Statement;
  readonly #countDue: Statement;
  readonly #selectTasks: Statement;
  readonly #countStranded: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#selectTallies = connection.prepare(`
      SELECT status, sum(instances) AS instances, sum(paused) AS paused, sum(blocked) AS blocked,
        sum(executions) AS executions, sum(events) AS events
      FROM @tallies WHERE status <> '' GROUP BY status`);
    const cuts = allCuts("cuts", {
      table: "@inbox",
      condition: "NOT r.parked",
      columns: ["target", "priority"],
    });
    this.#countDue = connection.prepare(`
      WITH RECURSIVE ${cuts}
      SELECT coalesce(sum((
        SELECT count(*) FROM @inbox AS m
        WHERE NOT m.parked AND m.target = c.target AND m.priority = c.priority
          AND m.visible_at <= (SELECT @clock())
      )), 0) + (
        SELECT count(*) FROM @inbox AS e JOIN @instances AS i ON i.key = e.instance
        WHERE e.kind = 'event' AND e.parked AND e.visible_at <= (SELECT @clock()) AND ${LIVES}
      ) AS due FROM cuts AS c`);
    this.#selectTasks = connection.prepare(`
      SELECT
        count(*) FILTER (WHERE lease_owner IS NULL AND available_at <= (SELECT @clock())) AS waiting,
        count(*) FILTER (WHERE lease_owner IS NOT NULL) AS running
      FROM @tasks`);
    this.#countStranded = connection.prepare(
      "SELECT coalesce(sum(leases_stranded), 0) AS stranded FROM @runtimes",
    );
  }

  async read(): Promise<StoreMetrics> {
    const pipeline = new Pipeline();
    const tallies = pipeline.add(this.#selectTallies);
    const due = pipeline.add(this.#countDue);
    const counted = pipeline.add(this.#selectTasks);
    const stranded = pipeline.add(this.#countStranded);
    await this.#connection.survey(pipeline);
    const tasks = only(counted.rows);
    return {
      ...sumOf(tallies.rows.map(toTally)),
      dueMessages: integer(only(due.rows), "due"),
      waitingTasks: integer(tasks, "waiting"),
      runningTasks: integer(tasks, "running"),
      strandedLeases: integer(only(stranded.rows), "stranded"),
    };
  }
}
