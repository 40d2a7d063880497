// Peek: the safety net's look, one statement (architecture §4).
//   P1. It may say yes in vain, never no: targets, names, tags and sessions are not looked at, and of due messages
//       whose instances cannot be taken only the first LOOKS a cut.
//   P2. Its cost grows with the number of cuts, not of sleepers: one look-up a cut finds what is due first.

import type { StatementSync } from "node:sqlite";
import type { Peek, PeekRequest } from "../core/provider/runtimes.ts";
import { integer } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { allCuts } from "./cuts.ts";
import { FREE, TAKEABLE } from "./due-instances.ts";
import { toRuntime } from "./runtimes.ts";

const LOOKS = 100;
const TASK_CUT = ["suspect", "name", "tags", "priority"];
const PLAIN = "lease_owner IS NULL AND session IS NULL";
const OF_SESSIONS = "lease_owner IS NULL AND session IS NOT NULL";

export class Peeks {
  readonly #connection: Connection;
  readonly #select: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#select = connection.prepare(`
      WITH RECURSIVE
        ${allCuts("inbox_cuts", "inbox", "parked = 0", ["target", "priority"])},
        ${allCuts("task_cuts", "tasks", PLAIN, TASK_CUT)},
        ${allCuts("session_cuts", "tasks", OF_SESSIONS, TASK_CUT)}
      SELECT news.*, runtimes.* FROM (
        SELECT
          EXISTS (SELECT 1 FROM inbox_cuts AS cut WHERE ${IS_DUE})
            OR EXISTS (SELECT 1 FROM instances WHERE ${IS_STRANDED}) AS instances,
          EXISTS (SELECT 1 FROM task_cuts AS cut WHERE ${isWaiting("session IS NULL")})
            OR EXISTS (SELECT 1 FROM session_cuts AS cut WHERE ${isWaiting("session IS NOT NULL")})
            OR EXISTS (SELECT 1 FROM tasks WHERE ${IS_OVERDUE}) AS tasks
      ) AS news LEFT JOIN runtimes ORDER BY started_at, id`);
  }

  peek({ owner }: PeekRequest): Promise<Peek> {
    return this.#connection.read(() => {
      const rows = this.#select.all(this.#connection.now(), owner, JSON.stringify(owner));
      const news = rows[0] ?? {};
      const clockSetBackMs = this.#connection.takeSetBackMs();
      return {
        ...(clockSetBackMs > 0 ? { clockSetBackMs } : {}),
        instances: integer(news, "instances") === 1,
        tasks: integer(news, "tasks") === 1,
        runtimes: rows.filter((row) => row["id"] !== null).map(toRuntime),
      };
    });
  }
}

/** ?1 now, ?2 the owner, ?3 the owner as it stands in a JSON array: as for a lease. */
const OF_CUT = `
  FROM inbox AS m WHERE m.parked = 0 AND m.target = cut.target AND m.priority = cut.priority
    AND m.visible_at <= ?1`;
const IS_DUE = `
  EXISTS (
    SELECT 1 FROM (SELECT m.instance ${OF_CUT} ORDER BY m.visible_at LIMIT ${LOOKS}) AS due
    CROSS JOIN instances ON instances.key = due.instance
    WHERE (${FREE} OR lease_owner = ?2) AND ${TAKEABLE})
  OR EXISTS (SELECT 1 ${OF_CUT} ORDER BY m.visible_at LIMIT 1 OFFSET ${LOOKS})`;
const IS_STRANDED = `
  steps_open = 1 AND lease_until IS NOT NULL AND lease_until <= ?1 AND lease_owner <> ?2
  AND ${TAKEABLE}`;
const isWaiting = (which: string): string => `
  EXISTS (
    SELECT 1 FROM tasks AS t
    WHERE t.lease_owner IS NULL AND t.${which} AND t.suspect = cut.suspect AND t.name = cut.name
      AND t.tags = cut.tags AND t.priority = cut.priority AND t.available_at <= ?1)`;
const IS_OVERDUE = "lease_until IS NOT NULL AND lease_until <= ?1";
