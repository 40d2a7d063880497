// Task cuts: the parts of the queue in which available_at alone is the order.
//   TC1. A cut is a suspicion, a name, a set of tags and a priority. Names and tags are judged once a cut, so that
//        tasks nobody here can take cost one look-up a kind, however many there are (K3).
//   TC2. A retry is left to others for a while where the request says so.
//   TC3. Tasks of all sessions have an index of their own, read in order past those that others hold; it
//        is looked at only while a new session may be claimed. Those of chosen sessions are read session by session.

import { AGEING_MS, rankOf, type Ageing } from "../core/provider/ageing.ts";
import type { Candidate, QueuePart } from "../core/provider/task-choice.ts";
import type { LeaseTasksRequest, TagFilter } from "../core/provider/tasks.ts";
import { texts } from "./column-arrays.ts";
import { flag, integer, integerOrNull, text, textOrNull, type Row } from "./columns.ts";
import type { Connection } from "./connection.ts";
import { allCuts } from "./cuts.ts";
import type { Answer, Pipeline, Statement, Value } from "./pipeline.ts";
import { none, some } from "./probing.ts";

export interface Cut {
  readonly suspect: boolean;
  readonly name: string;
  readonly tag_set: string;
  readonly priority: number;
}
export interface Waiting extends Cut, Candidate {
  /** Its lease ended by itself. */
  readonly overdue: boolean;
}

export const CUT = ["suspect", "name", "tag_set", "priority"];
export const PLAIN = "r.lease_owner IS NULL AND r.session IS NULL";
export const OF_SESSIONS = "r.lease_owner IS NULL AND r.session IS NOT NULL";
const PLAIN_CUTS = allCuts("cuts", {
  table: "@tasks",
  condition: PLAIN,
  columns: CUT,
  carried: ["tags"],
});
const SESSION_CUTS = allCuts("cuts", {
  table: "@tasks",
  condition: OF_SESSIONS,
  columns: CUT,
  carried: ["tags"],
});
/** Of a cut or task `c`. $1 names, $2 whether a suspect may be taken, $3 to $5 the tags. */
const IS_WANTED = `
  c.name = ANY ($1::text[]) AND (NOT c.suspect OR $2::boolean)
  AND CASE WHEN c.tag_set = '' THEN $3::boolean ELSE $4::boolean OR c.tags <@ $5::text[] END`;
/** Of a task `r` and a cut `c`. */
export const IN_CUT = `
  r.suspect = c.suspect AND r.name = c.name AND r.tag_set = c.tag_set AND r.priority = c.priority`;
/** $6 who asks, $7 how long he leaves to others what he failed with. */
const IS_LEFT = "(r.avoid = $6 AND r.available_at > (SELECT @clock()) - $7::bigint)";
const NOT_LEFT = `(${IS_LEFT}) IS NOT TRUE`;
const COLUMNS = `
  r.instance, r.execution, r.sequence, r.session, r.suspect, r.name, r.tag_set, r.priority`;
const ORDER = "r.available_at, r.instance, r.execution, r.sequence";
const IS_DUE = "r.available_at <= (SELECT @clock())";
/** Whether nobody else than `owner` holds the session `id` now. */
const notForeign = (id: string, owner: string): string =>
  none(`
    FROM @sessions AS s
    WHERE s.id = ${id} AND s.owner <> ${owner} AND s.until > (SELECT @clock())`);

export class TaskCuts {
  readonly #plain: Statement;
  readonly #laterPlain: Statement;
  readonly #ofSessions: Statement;
  readonly #laterOfSessions: Statement;
  readonly #ofSession: Statement;
  readonly #laterOfSession: Statement;
  readonly #overdue: Statement;
  readonly #lapse: Statement;

  constructor(connection: Connection) {
    const heads = (cuts: string, condition: string, limit: string): string => `
      WITH RECURSIVE ${cuts}
      SELECT h.* FROM cuts AS c CROSS JOIN LATERAL (
        SELECT ${COLUMNS}, r.available_at FROM @tasks AS r
        WHERE ${condition} AND ${IN_CUT} AND ${IS_DUE} ORDER BY ${ORDER} LIMIT ${limit}
      ) AS h WHERE ${IS_WANTED}`;
    const later = (cuts: string, condition: string): string => `
      WITH RECURSIVE ${cuts}
      SELECT (
        SELECT r.available_at FROM @tasks AS r
        WHERE ${condition} AND ${IN_CUT} AND NOT ${IS_DUE} ORDER BY ${ORDER} LIMIT 1
      ) AS at FROM cuts AS c WHERE ${IS_WANTED}`;
    this.#plain = connection.prepare(heads(PLAIN_CUTS, `${PLAIN} AND ${NOT_LEFT}`, "$8::bigint"));
    this.#laterPlain = connection.prepare(`
      ${later(PLAIN_CUTS, PLAIN)}
      UNION ALL SELECT (
        SELECT r.available_at + $7::bigint FROM @tasks AS r
        WHERE ${PLAIN} AND ${IN_CUT} AND ${IS_DUE} AND ${IS_LEFT} ORDER BY ${ORDER} LIMIT 1
      ) FROM cuts AS c WHERE $7::bigint > 0 AND ${IS_WANTED}`);
    this.#ofSessions = connection.prepare(
      heads(SESSION_CUTS, `${OF_SESSIONS} AND ${notForeign("r.session", "$6")}`, "$7::bigint"),
    );
    this.#laterOfSessions = connection.prepare(later(SESSION_CUTS, OF_SESSIONS));
    const ofSession = `
      FROM unnest($6::text[]) AS w (id) CROSS JOIN LATERAL (
        SELECT * FROM @tasks AS s
        WHERE s.session = w.id AND s.lease_owner IS NULL AND s.session IS NOT NULL OFFSET 0
      ) AS c
      WHERE ${IS_WANTED} AND ${notForeign("w.id", "$7")}`;
    this.#ofSession = connection.prepare(`
      SELECT ${COLUMNS.replaceAll("r.", "c.")}, c.available_at ${ofSession}
        AND c.available_at <= (SELECT @clock())
      ORDER BY c.available_at + c.priority * $9::bigint LIMIT $8::bigint`);
    this.#laterOfSession = connection.prepare(`
      SELECT min(c.available_at) AS at ${ofSession} AND c.available_at > (SELECT @clock())`);
    // $6 who would own their sessions; NULL: nobody, only tasks without one.
    this.#overdue = connection.prepare(`
      SELECT ${COLUMNS.replaceAll("r.", "c.")}, c.lease_until AS available_at FROM @tasks AS c
      WHERE c.lease_until IS NOT NULL AND c.lease_until <= (SELECT @clock()) AND ${IS_WANTED}
        AND (c.session IS NULL OR ($6::text IS NOT NULL AND ${notForeign("c.session", "$6::text")}))
      ORDER BY c.lease_until LIMIT $7::bigint`);
    this.#lapse = connection.prepare(`
      SELECT min(s.until) AS at FROM @sessions AS s
      WHERE s.owner <> $1 AND s.until > (SELECT @clock()) AND ${some(`
        FROM @tasks AS t
        WHERE t.session = s.id AND t.lease_owner IS NULL AND t.session IS NOT NULL`)}`);
  }

  /** The first tasks without a session. */
  plain(pipeline: Pipeline, request: LeaseTasksRequest): Heads {
    const { owner, avoidMs = 0, limit } = request;
    const asked = [...wanted(request), owner, Math.ceil(avoidMs)];
    return new Heads(
      request,
      pipeline.add(this.#plain, [...asked, limit + 1]),
      pipeline.add(this.#laterPlain, asked),
    );
  }

  /** The first tasks of all sessions that the owner holds or may claim. */
  ofSessions(pipeline: Pipeline, request: LeaseTasksRequest, owner: string): Heads {
    const asked = wanted(request);
    return new Heads(
      request,
      pipeline.add(this.#ofSessions, [...asked, owner, request.limit + 1]),
      pipeline.add(this.#laterOfSessions, asked),
    );
  }

  /** The first tasks of these sessions, unless somebody else holds them. */
  ofSession(
    pipeline: Pipeline,
    request: LeaseTasksRequest,
    owner: string,
    ids: readonly string[],
  ): Heads {
    const asked = [...wanted(request), texts(ids), owner];
    const { limit, ageingMs = AGEING_MS } = request;
    return new Heads(
      request,
      pipeline.add(this.#ofSession, [...asked, limit + 1, ageingMs]),
      pipeline.add(this.#laterOfSession, asked),
    );
  }

  /** Tasks whose lease ended by itself; a death each, taken like suspects. */
  overdue(pipeline: Pipeline, request: LeaseTasksRequest): Heads {
    if (!request.allowSuspect) return new Heads(request, null, null);
    const owner = request.sessions?.owner ?? null;
    const values = [...wanted(request), owner, request.limit + 1];
    return new Heads(request, pipeline.add(this.#overdue, values), null, true);
  }

  /** When the next session that others hold, and that tasks wait for, lapses unless it is renewed. */
  lapse(pipeline: Pipeline, owner: string): Heads {
    return new Heads({}, null, pipeline.add(this.#lapse, [owner]));
  }
}

/** The heads of some cuts, when the answer is there. */
export class Heads implements QueuePart {
  readonly #ageing: Ageing;
  readonly #found: Answer | null;
  readonly #later: Answer | null;
  readonly #overdue: boolean;

  constructor(ageing: Ageing, found: Answer | null, later: Answer | null, overdue = false) {
    this.#ageing = ageing;
    this.#found = found;
    this.#later = later;
    this.#overdue = overdue;
  }

  get waiting(): Waiting[] {
    return (this.#found?.rows ?? []).map((row) => toWaiting(row, this.#ageing, this.#overdue));
  }

  /** When the next one comes due that is not yet. */
  get nextAt(): number | null {
    const times = (this.#later?.rows ?? []).flatMap((row) => integerOrNull(row, "at") ?? []);
    return times.length === 0 ? null : Math.min(...times);
  }
}

function wanted({ names, tags, allowSuspect }: LeaseTasksRequest): Value[] {
  return [texts(names), allowSuspect, ...tagValues(tags)];
}

/** Whether tasks without tags, tasks with any, or tasks with some of a list are wanted (semantics 15). */
function tagValues(filter: TagFilter): Value[] {
  if (filter === "any") return [true, true, texts([])];
  if (filter === "none") return [false, false, texts([])];
  if (filter === "untagged") return [true, false, texts([])];
  return [filter.untagged, false, texts(filter.tags)];
}

function toWaiting(row: Row, ageing: Ageing, overdue: boolean): Waiting {
  const priority = integer(row, "priority");
  return {
    instance: integer(row, "instance"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    session: textOrNull(row, "session"),
    suspect: overdue || flag(row, "suspect"),
    name: text(row, "name"),
    tag_set: text(row, "tag_set"),
    priority,
    overdue,
    rank: rankOf(integer(row, "available_at"), priority, ageing),
  };
}
