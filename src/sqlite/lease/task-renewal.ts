// Task renewal: renewals and heartbeats of tasks that a worker runs.
//   - A claim that no longer holds is returned as lost, and nothing of it is stored.

import type { TaskClaim, TaskHeartbeat } from "../../core/provider/tasks.ts";
import type { Connection } from "../connection/connection.ts";
import type { ChangeNotifier } from "../notify/change-notifier.ts";
import { dueTime } from "../read/messages.ts";
import type { Tasks } from "./tasks.ts";

export class TaskRenewal {
  readonly #connection: Connection;
  readonly #notifier: ChangeNotifier;
  readonly #tasks: Tasks;

  constructor(connection: Connection, notifier: ChangeNotifier, tasks: Tasks) {
    this.#connection = connection;
    this.#notifier = notifier;
    this.#tasks = tasks;
  }

  renew(claims: readonly TaskClaim[], leaseMs: number): Promise<readonly TaskClaim[]> {
    return this.#connection.write(() => {
      const activity = { now: this.#connection.now(), bumped: new Map<string, number>() };
      const until = dueTime({ delayMs: leaseMs }, activity.now);
      return claims.filter((claim) => !this.#tasks.renew(claim, until, activity));
    });
  }

  heartbeat(heartbeats: readonly TaskHeartbeat[]): Promise<readonly TaskClaim[]> {
    return this.#notifier.write((transaction) =>
      heartbeats
        .filter((beat) => !this.#tasks.heartbeat(beat, transaction))
        .map(({ task }) => task),
    );
  }

  lost(claims: readonly TaskClaim[]): Promise<readonly TaskClaim[]> {
    return this.#connection.read(() => claims.filter((claim) => !this.#tasks.holds(claim)));
  }
}
