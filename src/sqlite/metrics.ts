// Metrics: figures for the whole store.
//   M1. Figures of instances are sums of tallies, which triggers keep (0008-tallies.sql): neither instances nor
//       history are read, however many there are.
//   M2. Due messages are counted cut by cut, so that timers of the far future cost nothing; then the events that are
//       parked behind the oldest one of a live instance (I3 of inbox.ts).

import type { StatementSync } from "node:sqlite";
import type { StoreMetrics } from "../core/provider/admin.ts";
import { sumOf } from "../core/provider/tallies.ts";
import { integer } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { allCuts } from "./cuts.ts";
import { toTally } from "./tallies.ts";

export class Metrics {
  readonly #connection: Connection;
  readonly #selectTallies: StatementSync;
  readonly #countDue: StatementSync;
  readonly #countParked: StatementSync;
  readonly #selectTasks: StatementSync;
  readonly #countStranded: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#selectTallies = connection.prepare(
      "SELECT status, instances, paused, blocked, executions, events FROM tallies",
    );
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
    this.#countStranded = connection.prepare(
      "SELECT total(leases_stranded) AS stranded FROM runtimes",
    );
  }

  read(): Promise<StoreMetrics> {
    return this.#connection.read(() => {
      const now = this.#connection.now();
      const ready = integer(this.#countDue.get(now) ?? {}, "due");
      const tasks = this.#selectTasks.get(now) ?? {};
      return {
        ...sumOf(this.#selectTallies.all().map(toTally)),
        dueMessages: ready + integer(this.#countParked.get(now) ?? {}, "due"),
        waitingTasks: integer(tasks, "waiting"),
        runningTasks: integer(tasks, "running"),
        strandedLeases: integer(this.#countStranded.get() ?? {}, "stranded"),
      };
    });
  }
}
