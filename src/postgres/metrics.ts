// Metrics: figures for the whole store.
//   M1. Executions and events are counted on the instances' rows, which hold both numbers; history, the largest
//       table by far, is not read.
//   M2. Due messages are counted cut by cut, so that timers of the far future cost nothing; then the events that are
//       parked behind the oldest one of a live instance (I3 of inbox.ts).

import type { StoreMetrics } from "../core/provider/admin.ts";
import type { InstanceStatus } from "../core/provider/instances.ts";
import { INSTANCE_STATUSES } from "../core/provider/row-checks.ts";
import { integer, only } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { allCuts } from "./cuts.ts";
import { LIVES } from "./delivery.ts";
import { Pipeline, type Statement } from "./pipeline.ts";

export class Metrics {
  readonly #connection: Connection;
  readonly #selectInstances: Statement;
  readonly #countDue: Statement;
  readonly #selectTasks: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    const ofStatus = INSTANCE_STATUSES.map(
      (status) => `count(*) FILTER (WHERE status = '${status}') AS ${status}`,
    );
    this.#selectInstances = connection.prepare(`
      SELECT ${ofStatus.join(", ")},
        count(*) FILTER (WHERE paused IS NOT NULL) AS paused,
        count(*) FILTER (WHERE blocked IS NOT NULL) AS blocked,
        coalesce(sum(1 + past_executions), 0) AS executions,
        coalesce(sum(last_event + past_events), 0) AS events
      FROM @instances`);
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
  }

  async read(): Promise<StoreMetrics> {
    const pipeline = new Pipeline();
    const selected = pipeline.add(this.#selectInstances);
    const due = pipeline.add(this.#countDue);
    const counted = pipeline.add(this.#selectTasks);
    await this.#connection.survey(pipeline);
    const instances = only(selected.rows);
    const tasks = only(counted.rows);
    const count = (status: InstanceStatus): number => integer(instances, status);
    return {
      instances: {
        pending: count("pending"),
        running: count("running"),
        completed: count("completed"),
        failed: count("failed"),
        cancelled: count("cancelled"),
        terminated: count("terminated"),
      },
      paused: integer(instances, "paused"),
      blocked: integer(instances, "blocked"),
      executions: integer(instances, "executions"),
      events: integer(instances, "events"),
      dueMessages: integer(only(due.rows), "due"),
      waitingTasks: integer(tasks, "waiting"),
      runningTasks: integer(tasks, "running"),
    };
  }
}
