// Peek: the safety net's look, one statement (architecture §4).
//   P1. It may say yes in vain, never no: targets, names, tags and sessions are not looked at, and of due messages
//       whose instances cannot be taken only the first LOOKS a cut.
//   P2. Its cost grows with the number of cuts, not of sleepers: one look-up a cut finds what is due first.
//   P3. It brings the store's time along, so that an idle process keeps its copy of the clock.
//   P4. It names the server by the moment of its start: a standby that was promoted, and a server that crashed and came
//       back, have another, and may lack the last commits.

import type { Peek, PeekRequest } from "../core/provider/runtimes.ts";
import { flag, integer, only, text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { allCuts } from "./cuts.ts";
import { FREE, takeable } from "./due-instances.ts";
import type { Statement } from "./pipeline.ts";
import { RUNTIME_COLUMNS, toRuntime } from "./runtimes.ts";
import { CUT, IN_CUT, OF_SESSIONS, PLAIN } from "./task-cuts.ts";
import { probe, some } from "./probing.ts";

const LOOKS = 100;

/** $1 the owner, $2 the owner as it stands in a JSON array. */
const OF_CUT = `
  FROM @inbox AS m WHERE NOT m.parked AND m.target = c.target AND m.priority = c.priority
    AND m.visible_at <= (SELECT @clock())`;
const IS_DUE = `
  ${some(`
    FROM (SELECT m.instance ${OF_CUT} ORDER BY m.visible_at LIMIT ${LOOKS}) AS due
    JOIN @instances AS i ON ${probe("i.key", "due.instance")}
    WHERE (${FREE} OR i.lease_owner = $1) AND ${takeable("$2")}`)}
  OR ${some(`FROM (SELECT 1 ${OF_CUT} ORDER BY m.visible_at OFFSET ${LOOKS} LIMIT 1) AS beyond`)}`;
const IS_STRANDED = `
  i.steps_open AND i.lease_until IS NOT NULL AND i.lease_until <= (SELECT @clock())
  AND i.lease_owner <> $1 AND ${takeable("$2")}`;
const isWaiting = (condition: string): string =>
  some(`
    FROM @tasks AS r
    WHERE ${condition} AND ${IN_CUT} AND r.available_at <= (SELECT @clock())
    ORDER BY r.available_at`);
const IS_OVERDUE = "t.lease_until IS NOT NULL AND t.lease_until <= (SELECT @clock())";

export class Peeks {
  readonly #connection: Connection;
  readonly #select: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    const tasks = (name: string, condition: string): string =>
      allCuts(name, { table: "@tasks", condition, columns: CUT });
    const inbox = { table: "@inbox", condition: "NOT r.parked", columns: ["target", "priority"] };
    this.#select = connection.prepare(`
      WITH RECURSIVE ${allCuts("inbox_cuts", inbox)}, ${tasks("task_cuts", PLAIN)},
        ${tasks("session_cuts", OF_SESSIONS)}
      SELECT news.instances, news.tasks, @clock() AS now,
        pg_postmaster_start_time()::text AS server, ${RUNTIME_COLUMNS} FROM (
        SELECT
          EXISTS (SELECT 1 FROM inbox_cuts AS c WHERE ${IS_DUE})
            OR EXISTS (SELECT 1 FROM @instances AS i WHERE ${IS_STRANDED})
            OR EXISTS (SELECT 1 FROM @arrivals) AS instances,
          EXISTS (SELECT 1 FROM task_cuts AS c WHERE ${isWaiting(PLAIN)})
            OR EXISTS (SELECT 1 FROM session_cuts AS c WHERE ${isWaiting(OF_SESSIONS)})
            OR EXISTS (SELECT 1 FROM @tasks AS t WHERE ${IS_OVERDUE}) AS tasks
      ) AS news LEFT JOIN @runtimes AS r ON true ORDER BY r.started_at, r.id`);
  }

  async peek({ owner }: PeekRequest): Promise<Peek> {
    const askedAt = this.#connection.environment.monotonic();
    const rows = await this.#connection.read(this.#select, [owner, JSON.stringify(owner)]);
    const news = only(rows);
    this.#connection.clock.told(integer(news, "now"), askedAt);
    return {
      instances: flag(news, "instances"),
      tasks: flag(news, "tasks"),
      runtimes: rows.filter((row) => row["id"] !== null).map(toRuntime),
      server: text(news, "server"),
    };
  }
}
