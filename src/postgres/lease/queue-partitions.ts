// Queue partitions: the parts of the task queue within which the order is that of available_at.
//   - A partition is a suspicion, a name, a set of tags and a priority. Names and tags are checked once per
//       partition, so tasks that this worker cannot run cost one index lookup per kind, however many there
//       are (provider.tasks.3).
//   - If the request says so, a retry is left to other workers for a while.
//   - Tasks of all sessions have a separate index, read in order past the sessions of other owners. It is
//       read only while a new session may be claimed. Tasks of chosen sessions are read session by session.

import { AGEING_MS, queueRank, type Ageing } from "../../core/provider/shared/ageing.ts";
import { runsAlone } from "../../core/provider/shared/blame.ts";
import type { QueuePart } from "../../core/provider/shared/task-choice.ts";
import type { LeaseTasksRequest, TagFilter } from "../../core/provider/tasks.ts";
import type { RuledCandidate } from "../../sql/lease/queue-loads.ts";
import { texts } from "../sql/column-arrays.ts";
import { flag, integer, integerOrNull, text, textOrNull, type Row } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { looseIndexScan } from "../sql/loose-index-scan.ts";
import type { Answer, Pipeline, Value } from "../connection/pipeline.ts";
import { notExists, exists } from "../../sql/index-lookup.ts";

export interface QueuePartition {
  readonly suspect: boolean;
  readonly name: string;
  readonly tag_set: string;
  readonly priority: number;
}
export interface WaitingTask extends QueuePartition, RuledCandidate {
  /** Its lease has expired. */
  readonly overdue: boolean;
}

export const PARTITION_COLUMNS = ["suspect", "name", "tag_set", "priority"];
export const PLAIN = "r.lease_owner IS NULL AND r.session IS NULL";
export const OF_SESSIONS = "r.lease_owner IS NULL AND r.session IS NOT NULL";
const PLAIN_PARTITIONS = looseIndexScan("partitions", {
  table: "@tasks",
  condition: PLAIN,
  columns: PARTITION_COLUMNS,
  carried: ["tags"],
});
const SESSION_PARTITIONS = looseIndexScan("partitions", {
  table: "@tasks",
  condition: OF_SESSIONS,
  columns: PARTITION_COLUMNS,
  carried: ["tags"],
});
/** Condition on a partition or task `c`. $1: names; $2: whether a suspect may be leased; $3 to $5: tags. */
const IS_WANTED = `
  c.name = ANY ($1::text[]) AND (NOT c.suspect OR $2::boolean)
  AND CASE WHEN c.tag_set = '' THEN $3::boolean ELSE $4::boolean OR c.tags <@ $5::text[] END`;
/** Condition on a task `r` and a partition `c`. */
export const IN_PARTITION = `
  r.suspect = c.suspect AND r.name = c.name AND r.tag_set = c.tag_set AND r.priority = c.priority`;
/** $6 is the asking worker; $7 is how long it leaves tasks that it failed to other workers. */
const IS_AVOIDED = "(r.avoid = $6 AND r.available_at > (SELECT @clock()) - $7::bigint)";
const NOT_AVOIDED = `(${IS_AVOIDED}) IS NOT TRUE`;
const COLUMNS = `
  r.instance, r.execution, r.sequence, r.session, r.suspect, r.deaths, r.name, r.tag_set, r.priority`;
const ORDER = "r.available_at, r.instance, r.execution, r.sequence";
const IS_DUE = "r.available_at <= (SELECT @clock())";
/** Whether no owner other than `owner` holds the session `id` now. */
const notHeldByOther = (id: string, owner: string): string =>
  notExists(`
    FROM @sessions AS s
    WHERE s.id = ${id} AND s.owner <> ${owner} AND s.until > (SELECT @clock())`);

const heads = (partitions: string, condition: string, limit: string): string => `
  WITH RECURSIVE ${partitions}
  SELECT h.* FROM partitions AS c CROSS JOIN LATERAL (
    SELECT ${COLUMNS}, r.available_at FROM @tasks AS r
    WHERE ${condition} AND ${IN_PARTITION} AND ${IS_DUE} ORDER BY ${ORDER} LIMIT ${limit}
  ) AS h WHERE ${IS_WANTED}`;
const later = (partitions: string, condition: string): string => `
  WITH RECURSIVE ${partitions}
  SELECT (
    SELECT r.available_at FROM @tasks AS r
    WHERE ${condition} AND ${IN_PARTITION} AND NOT ${IS_DUE} ORDER BY ${ORDER} LIMIT 1
  ) AS at FROM partitions AS c WHERE ${IS_WANTED}`;
const OF_SESSION = `
  FROM unnest($6::text[]) AS w (id) CROSS JOIN LATERAL (
    SELECT * FROM @tasks AS s
    WHERE s.session = w.id AND s.lease_owner IS NULL AND s.session IS NOT NULL OFFSET 0
  ) AS c
  WHERE ${IS_WANTED} AND ${notHeldByOther("w.id", "$7")}`;

export class QueuePartitions extends Subject {
  readonly #plain = this.prepare(
    heads(PLAIN_PARTITIONS, `${PLAIN} AND ${NOT_AVOIDED}`, "$8::bigint"),
  );
  readonly #laterPlain = this.prepare(`
    ${later(PLAIN_PARTITIONS, PLAIN)}
    UNION ALL SELECT (
      SELECT r.available_at + $7::bigint FROM @tasks AS r
      WHERE ${PLAIN} AND ${IN_PARTITION} AND ${IS_DUE} AND ${IS_AVOIDED} ORDER BY ${ORDER} LIMIT 1
    ) FROM partitions AS c WHERE $7::bigint > 0 AND ${IS_WANTED}`);
  readonly #ofSessions = this.prepare(
    heads(
      SESSION_PARTITIONS,
      `${OF_SESSIONS} AND ${notHeldByOther("r.session", "$6")}`,
      "$7::bigint",
    ),
  );
  readonly #laterOfSessions = this.prepare(later(SESSION_PARTITIONS, OF_SESSIONS));
  readonly #ofSession = this.prepare(`
    SELECT ${COLUMNS.replaceAll("r.", "c.")}, c.available_at ${OF_SESSION}
      AND c.available_at <= (SELECT @clock())
    ORDER BY c.available_at + c.priority * $9::bigint LIMIT $8::bigint`);
  readonly #laterOfSession = this.prepare(`
    SELECT min(c.available_at) AS at ${OF_SESSION} AND c.available_at > (SELECT @clock())`);
  // $6 is the owner that would claim the sessions; NULL selects only tasks without a session.
  readonly #overdue = this.prepare(`
    SELECT ${COLUMNS.replaceAll("r.", "c.")}, c.lease_until AS available_at FROM @tasks AS c
    WHERE c.lease_until IS NOT NULL AND c.lease_until <= (SELECT @clock()) AND ${IS_WANTED}
      AND (c.session IS NULL OR ($6::text IS NOT NULL AND ${notHeldByOther("c.session", "$6::text")}))
    ORDER BY c.lease_until LIMIT $7::bigint`);
  readonly #lapse = this.prepare(`
    SELECT min(s.until) AS at FROM @sessions AS s
    WHERE s.owner <> $1 AND s.until > (SELECT @clock()) AND ${exists(`
      FROM @tasks AS t
      WHERE t.session = s.id AND t.lease_owner IS NULL AND t.session IS NOT NULL`)}`);

  /** The first tasks without a session. */
  plain(pipeline: Pipeline, request: LeaseTasksRequest): Heads {
    const { owner, avoidMs = 0, limit } = request;
    const asked = [...wanted(request), owner, Math.ceil(avoidMs)];
    const later = pipeline.add(this.#laterPlain, asked);
    return new Heads(request, pipeline.add(this.#plain, [...asked, limit + 1]), later);
  }

  /** The first tasks of all sessions that the owner holds or may claim. */
  ofSessions(pipeline: Pipeline, request: LeaseTasksRequest, owner: string): Heads {
    const asked = wanted(request);
    const later = pipeline.add(this.#laterOfSessions, asked);
    const found = pipeline.add(this.#ofSessions, [...asked, owner, request.limit + 1]);
    return new Heads(request, found, later);
  }

  /** The first tasks of these sessions, unless another owner holds the session. */
  ofSession(
    pipeline: Pipeline,
    request: LeaseTasksRequest,
    owner: string,
    ids: readonly string[],
  ): Heads {
    const asked = [...wanted(request), texts(ids), owner];
    const { limit, ageingMs = AGEING_MS } = request;
    const later = pipeline.add(this.#laterOfSession, asked);
    const found = pipeline.add(this.#ofSession, [...asked, limit + 1, ageingMs]);
    return new Heads(request, found, later);
  }

  /** Tasks with an expired lease. Each counts as a death and is leased like a suspect. */
  overdue(pipeline: Pipeline, request: LeaseTasksRequest): Heads {
    if (!request.allowSuspect) return new Heads(request, null, null);
    const owner = request.sessions?.owner ?? null;
    const values = [...wanted(request), owner, request.limit + 1];
    return new Heads(request, pipeline.add(this.#overdue, values), null, true);
  }

  /** When the lease of the next session lapses that another owner holds and that tasks wait for. */
  lapse(pipeline: Pipeline, owner: string): Heads {
    return new Heads({}, null, pipeline.add(this.#lapse, [owner]));
  }
}

/** The first tasks of some partitions, readable after the run. */
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

  get waiting(): WaitingTask[] {
    return (this.#found?.rows ?? []).map((row) => toWaiting(row, this.#ageing, this.#overdue));
  }

  /** When the next task becomes due. */
  get nextAt(): number | null {
    const times = (this.#later?.rows ?? []).flatMap((row) => integerOrNull(row, "at") ?? []);
    return times.length === 0 ? null : Math.min(...times);
  }
}

function wanted({ names, tags, allowSuspect }: LeaseTasksRequest): Value[] {
  return [texts(names), allowSuspect, ...tagValues(tags)];
}

/**
 * Parameters: whether tasks without tags and tasks with any tags are wanted, and the accepted tags
 * (semantics 15).
 */
function tagValues(filter: TagFilter): Value[] {
  if (filter === "any") return [true, true, texts([])];
  if (filter === "none") return [false, false, texts([])];
  if (filter === "untagged") return [true, false, texts([])];
  return [filter.untagged, false, texts(filter.tags)];
}

function toWaiting(row: Row, ageing: Ageing, overdue: boolean): WaitingTask {
  const priority = integer(row, "priority");
  return {
    instance: integer(row, "instance"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    session: textOrNull(row, "session"),
    suspect: overdue || flag(row, "suspect"),
    runsAlone: overdue || (flag(row, "suspect") && runsAlone(integer(row, "deaths"))),
    name: text(row, "name"),
    tag_set: text(row, "tag_set"),
    priority,
    overdue,
    rank: queueRank(integer(row, "available_at"), priority, ageing),
  };
}
