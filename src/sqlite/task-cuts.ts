// Task cuts: the parts of the queue in which available_at alone is the order.
//   TC1. A cut is a suspicion, a name, a set of tags and a priority. Names and tags are judged once a cut, so that
//        tasks nobody here can take cost one look-up a kind, however many there are (K3).
//   TC2. Tasks without a session and those of one session are read alike: by their session, NULL included.
//   TC3. Tasks of all sessions have an index of their own, read in order past those that others hold; it
//        is looked at only while a new session may be claimed.
//   TC4. A retry is left to others for a while where the request says so; only then is it looked at who failed.

import type { StatementSync } from "node:sqlite";
import { rankOf, type Ageing } from "../core/provider/ageing.ts";
import type { Candidate, QueuePart } from "../core/provider/task-choice.ts";
import type { LeaseTasksRequest } from "../core/provider/tasks.ts";
import { acceptsTags } from "../core/tags.ts";
import { integer, integerOrNull, text, textOrNull, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { nextCut } from "./cuts.ts";
import { tagsOf } from "./task-rows.ts";

interface Cut {
  readonly suspect: number;
  readonly name: string;
  readonly tags: string;
  readonly priority: number;
}
export interface Waiting extends Candidate {
  /** 1: its lease ended by itself. */
  readonly overdue: number;
}
export interface Heads extends QueuePart {
  readonly waiting: readonly Waiting[];
}

const COLUMNS = ["suspect", "name", "tags", "priority"];
const CUT = "suspect = ?1 AND name = ?2 AND tags = ?3 AND priority = ?4";
/** ?5 the session, or NULL. */
const OF_SESSION = "lease_owner IS NULL AND session IS ?5";
const OF_SESSIONS = "lease_owner IS NULL AND session IS NOT NULL";
const ORDER = "ORDER BY available_at, instance, execution, sequence";

export class TaskCuts {
  readonly #nextOfSession: StatementSync;
  readonly #headOfSession: StatementSync;
  readonly #laterOfSession: StatementSync;
  readonly #headOfOthers: StatementSync;
  readonly #laterOfOthers: StatementSync;
  readonly #nextOfSessions: StatementSync;
  readonly #headOfSessions: StatementSync;
  readonly #laterOfSessions: StatementSync;
  readonly #selectOverdue: StatementSync;

  constructor(connection: Connection) {
    this.#nextOfSession = connection.prepare(nextCut("tasks", OF_SESSION, COLUMNS));
    this.#headOfSession = connection.prepare(`
      SELECT instance, execution, sequence, available_at, session FROM tasks
      WHERE ${OF_SESSION} AND ${CUT} AND available_at <= ?6 ${ORDER} LIMIT +?7`);
    this.#laterOfSession = connection.prepare(`
      SELECT min(available_at) AS at FROM tasks
      WHERE ${OF_SESSION} AND ${CUT} AND available_at > ?6`);
    this.#headOfOthers = connection.prepare(`
      SELECT instance, execution, sequence, available_at, session FROM tasks
      WHERE ${OF_SESSION} AND ${CUT} AND available_at <= ?6
        AND (available_at <= ?9 OR avoid IS NOT ?8) ${ORDER} LIMIT +?7`);
    this.#laterOfOthers = connection.prepare(`
      SELECT min(iif(available_at > ?6, available_at, available_at + ?9)) AS at FROM tasks
      WHERE ${OF_SESSION} AND ${CUT}
        AND (available_at > ?6 OR (available_at > ?8 AND avoid IS ?7))`);
    this.#nextOfSessions = connection.prepare(nextCut("tasks", OF_SESSIONS, COLUMNS));
    // ?5 who asks: a session that somebody else holds now is passed over.
    this.#headOfSessions = connection.prepare(`
      SELECT instance, execution, sequence, available_at, session FROM tasks
      WHERE ${OF_SESSIONS} AND ${CUT} AND available_at <= ?6 AND NOT EXISTS (
        SELECT 1 FROM sessions WHERE id = tasks.session AND owner <> ?5 AND until > ?6)
      ${ORDER} LIMIT +?7`);
    this.#laterOfSessions = connection.prepare(`
      SELECT min(available_at) AS at FROM tasks
      WHERE ${OF_SESSIONS} AND ${CUT} AND available_at > ?5`);
    this.#selectOverdue = connection.prepare(`
      SELECT instance, execution, sequence, name, tags, session, priority,
        lease_until AS available_at
      FROM tasks WHERE lease_until IS NOT NULL AND lease_until <= ?`);
  }

  /** The first tasks of one session, or of none. */
  ofSession(request: LeaseTasksRequest, session: string | null, now: number): Heads {
    const { owner, avoidMs = 0, limit } = request;
    if (session === null && avoidMs > 0) {
      // What this owner failed with in the last `avoidMs` is passed over, and comes due again at their end.
      const until = now - avoidMs;
      return heads(
        request,
        (last) => this.#nextOfSession.get(...last, null),
        (cut) => this.#headOfOthers.all(...cut, null, now, limit + 1, owner, until),
        (cut) => this.#laterOfOthers.get(...cut, null, now, owner, until, avoidMs),
      );
    }
    return heads(
      request,
      (last) => this.#nextOfSession.get(...last, session),
      (cut) => this.#headOfSession.all(...cut, session, now, request.limit + 1),
      (cut) => this.#laterOfSession.get(...cut, session, now),
    );
  }

  /** The first tasks of all sessions that the owner holds or may claim. */
  ofSessions(request: LeaseTasksRequest, owner: string, now: number): Heads {
    return heads(
      request,
      (last) => this.#nextOfSessions.get(...last),
      (cut) => this.#headOfSessions.all(...cut, owner, now, request.limit + 1),
      (cut) => this.#laterOfSessions.get(...cut, now),
    );
  }

  /** Tasks whose lease ended by itself, whatever their session. */
  overdue(request: LeaseTasksRequest, now: number): readonly Waiting[] {
    if (!request.allowSuspect) return [];
    const isWanted = wanted(request);
    return this.#selectOverdue.all(now).flatMap((row) => {
      const cut = toCut({ ...row, suspect: 1 });
      return isWanted(cut) ? [toWaiting(row, cut, request, 1)] : [];
    });
  }
}

type CutValues = [number, string, string, number];

function heads(
  request: LeaseTasksRequest,
  next: (last: CutValues) => Row | undefined,
  head: (cut: CutValues) => Row[],
  later: (cut: CutValues) => Row | undefined,
): Heads {
  const isWanted = wanted(request);
  const waiting: Waiting[] = [];
  let nextAt: number | null = null;
  let values: CutValues = [-1, "", "", 0];
  for (let row = next(values); row !== undefined; row = next(values)) {
    const cut = toCut(row);
    values = [cut.suspect, cut.name, cut.tags, cut.priority];
    if (!isWanted(cut)) continue;
    for (const found of head(values)) waiting.push(toWaiting(found, cut, request, 0));
    const at = integerOrNull(later(values) ?? { at: null }, "at");
    if (at !== null && (nextAt === null || at < nextAt)) nextAt = at;
  }
  return { waiting, nextAt };
}

function wanted({ names, tags: filter, allowSuspect }: LeaseTasksRequest): (cut: Cut) => boolean {
  const known = new Set(names);
  return ({ suspect, name, tags }) => {
    if (!known.has(name) || (suspect === 1 && !allowSuspect)) return false;
    if (tags === "" || filter === "any") return acceptsTags(filter, null);
    // Tags that cannot be read shut nobody out: whoever takes the task ends it as poison (S4).
    const set = tagsOf(tags);
    return filter !== "none" && (set === undefined || acceptsTags(filter, set));
  };
}

function toCut(row: Row): Cut {
  return {
    suspect: integer(row, "suspect"),
    name: text(row, "name"),
    tags: text(row, "tags"),
    priority: integer(row, "priority"),
  };
}

function toWaiting(row: Row, { suspect, priority }: Cut, ageing: Ageing, overdue: number): Waiting {
  return {
    instance: integer(row, "instance"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    session: textOrNull(row, "session"),
    suspect: suspect === 1,
    overdue,
    rank: rankOf(integer(row, "available_at"), priority, ageing),
  };
}
