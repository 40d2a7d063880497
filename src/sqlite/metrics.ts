// Metrics: figures for the whole store.
//   M1. Executions and events are counted on the instances' rows, which hold both numbers; history, the largest
//       table by far, is not read.
//   M2. Due messages are counted cut by cut, so that timers of the far future cost nothing; then the events that are
//       parked behind the oldest one of a live instance (I3 of inbox.ts).

import type { StatementSync } from "node:sqlite";
import type { StoreMetrics } from "../core/provider/admin.ts";
import type { InstanceStatus } from "../core/provider/instances.ts";
import { INSTANCE_STATUSES } from "../core/provider/row-checks.ts";
import { integer } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { allCuts } from "./cuts.ts";

export class Metrics {
  readonly #connection: Connection;
  readonly #selectInstances: StatementSync;
  readonly #countDue: StatementSync;
  readonly #countParked: StatementSync;
  readonly #selectTasks: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#selectInstances = connection.prepare(`
      SELECT ${INSTANCE_STATUSES.map((status) => `total(status = '${status}') AS ${status}`).join(", ")},
        total(paused IS NOT NULL) AS paused, total(blocked IS NOT NULL) AS blocked,
        total(1 + past_executions) AS executions, total(last_event + past_events) AS events
      FROM instances`);
    this.#countDue = connection.prepare(`
      WITH RECURSIVE ${allCuts("cuts", "inbox", "parked = 0", ["target", "priority"])}
      SELECT total((
        SELECT count(*) FROM inbox
        WHERE parked = 0 AND inbox.target = cuts.target AND inbox.priority = cuts.priority
          AND visible_at <= ?
      )) AS due FROM cuts`);
    // "CROSS JOIN": events first, then their instances by key.
    this.#countParked = connection.prepare(`
      SELECT count(*) AS due FROM inbox CROSS JOIN instances ON instances.key = inbox.instance
      WHERE kind = 'event' AND parked = 1 AND visible_at <= ? AND status IN ('pending', 'running')`);
    this.#selectTasks = connection.prepare(`
      SELECT total(lease_owner IS NULL AND available_at <= ?) AS waiting,
        total(lease_owner IS NOT NULL) AS running
      FROM tasks`);
  }

  read(): Promise<StoreMetrics> {
    return this.#connection.read(() => {
      const now = this.#connection.now();
      const instances = this.#selectInstances.get() ?? {};
      const ready = integer(this.#countDue.get(now) ?? {}, "due");
      const tasks = this.#selectTasks.get(now) ?? {};
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
        dueMessages: ready + integer(this.#countParked.get(now) ?? {}, "due"),
        waitingTasks: integer(tasks, "waiting"),
        runningTasks: integer(tasks, "running"),
      };
    });
  }
}
