// Queue partitions: the parts of the task queue within which the order is that of available_at.
//   - A partition is a suspicion, a name, a set of tags and a priority. Names and tags are checked once per
//       partition, so tasks that this worker cannot run cost one index lookup per kind, however many there
//       are (provider.tasks.3).
//   - Tasks without a session and tasks of one session are read by the same statements: `session IS ?` also
//       matches NULL.
//   - Tasks of all sessions have a separate index, read in order past the sessions of other owners. It is
//       read only while a new session may be claimed.
//   - If the request says so, a retry is left to other workers for a while. Only then the statement checks
//       which worker failed.

import { queueRank, type Ageing } from "../../core/provider/shared/ageing.ts";
import { runsAlone } from "../../core/provider/shared/blame.ts";
import type { QueuePart } from "../../core/provider/shared/task-choice.ts";
import type { LeaseTasksRequest } from "../../core/provider/tasks.ts";
import { acceptsTags } from "../../core/ids/tags.ts";
import { integer, integerOrNull, text, textOrNull, type Row } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { nextDistinctRow } from "../sql/loose-index-scan.ts";
import type { RuledCandidate } from "../../sql/lease/queue-loads.ts";
import { tagsOf } from "../../sql/rows/task-rows.ts";

interface QueuePartition {
  readonly suspect: number;
  readonly name: string;
  readonly tags: string;
  readonly priority: number;
}
export interface WaitingTask extends RuledCandidate {
  readonly name: string;
  /** 1 if its lease has expired, otherwise 0. */
  readonly overdue: number;
}
export interface Heads extends QueuePart {
  readonly waiting: readonly WaitingTask[];
}

const NO_NAMES: ReadonlySet<string> = new Set();
const COLUMNS = ["suspect", "name", "tags", "priority"];
const IN_PARTITION = "suspect = ?1 AND name = ?2 AND tags = ?3 AND priority = ?4";
/** ?5 is the session, or NULL. */
const OF_SESSION = "lease_owner IS NULL AND session IS ?5";
const OF_SESSIONS = "lease_owner IS NULL AND session IS NOT NULL";
const ORDER = "ORDER BY available_at, instance, execution, sequence";

export class QueuePartitions extends Subject {
  readonly #nextOfSession = this.prepare(nextDistinctRow("tasks", OF_SESSION, COLUMNS));
  readonly #headOfSession = this.prepare(`
    SELECT instance, execution, sequence, available_at, session, deaths FROM tasks
    WHERE ${OF_SESSION} AND ${IN_PARTITION} AND available_at <= ?6 ${ORDER} LIMIT +?7`);
  readonly #laterOfSession = this.prepare(`
    SELECT min(available_at) AS at FROM tasks
    WHERE ${OF_SESSION} AND ${IN_PARTITION} AND available_at > ?6`);
  readonly #headOfOthers = this.prepare(`
    SELECT instance, execution, sequence, available_at, session, deaths FROM tasks
    WHERE ${OF_SESSION} AND ${IN_PARTITION} AND available_at <= ?6
      AND (available_at <= ?9 OR avoid IS NOT ?8) ${ORDER} LIMIT +?7`);
  readonly #laterOfOthers = this.prepare(`
    SELECT min(iif(available_at > ?6, available_at, available_at + ?9)) AS at FROM tasks
    WHERE ${OF_SESSION} AND ${IN_PARTITION}
      AND (available_at > ?6 OR (available_at > ?8 AND avoid IS ?7))`);
  readonly #nextOfSessions = this.prepare(nextDistinctRow("tasks", OF_SESSIONS, COLUMNS));
  // ?5 is the owner that asks: a session that another owner holds now is skipped.
  readonly #headOfSessions = this.prepare(`
    SELECT instance, execution, sequence, available_at, session, deaths FROM tasks
    WHERE ${OF_SESSIONS} AND ${IN_PARTITION} AND available_at <= ?6 AND NOT EXISTS (
      SELECT 1 FROM sessions WHERE id = tasks.session AND owner <> ?5 AND until > ?6)
    ${ORDER} LIMIT +?7`);
  readonly #laterOfSessions = this.prepare(`
    SELECT min(available_at) AS at FROM tasks
    WHERE ${OF_SESSIONS} AND ${IN_PARTITION} AND available_at > ?5`);
  readonly #selectOverdue = this.prepare(`
    SELECT instance, execution, sequence, name, tags, session, priority, deaths,
      lease_until AS available_at
    FROM tasks WHERE lease_until IS NOT NULL AND lease_until <= ?`);

  /** The first tasks of one session, or without a session. Of the names in `except` only the next time is read. */
  ofSession(
    request: LeaseTasksRequest,
    session: string | null,
    now: number,
    except = NO_NAMES,
  ): Heads {
    const { owner, avoidMs = 0, limit } = request;
    if (session === null && avoidMs > 0) {
      // Tasks that this owner failed in the last `avoidMs` are skipped until that time is over.
      const until = now - avoidMs;
      return heads(
        request,
        (last) => this.#nextOfSession.get(...last, null),
        (partition) =>
          except.has(partition[1])
            ? []
            : this.#headOfOthers.all(...partition, null, now, limit + 1, owner, until),
        (partition) => this.#laterOfOthers.get(...partition, null, now, owner, until, avoidMs),
      );
    }
    return heads(
      request,
      (last) => this.#nextOfSession.get(...last, session),
      (partition) =>
        except.has(partition[1])
          ? []
          : this.#headOfSession.all(...partition, session, now, request.limit + 1),
      (partition) => this.#laterOfSession.get(...partition, session, now),
    );
  }

  /** The first tasks of all sessions that the owner holds or may claim. */
  ofSessions(request: LeaseTasksRequest, owner: string, now: number): Heads {
    return heads(
      request,
      (last) => this.#nextOfSessions.get(...last),
      (partition) => this.#headOfSessions.all(...partition, owner, now, request.limit + 1),
      (partition) => this.#laterOfSessions.get(...partition, now),
    );
  }

  /** Tasks with an expired lease, whatever their session. */
  overdue(request: LeaseTasksRequest, now: number): readonly WaitingTask[] {
    if (!request.allowSuspect) return [];
    const isWanted = wanted(request);
    return this.#selectOverdue.all(now).flatMap((row) => {
      const partition = toPartition({ ...row, suspect: 1 });
      return isWanted(partition) ? [toWaiting(row, partition, request, 1)] : [];
    });
  }
}

type PartitionValues = [number, string, string, number];

function heads(
  request: LeaseTasksRequest,
  next: (last: PartitionValues) => Row | undefined,
  head: (partition: PartitionValues) => Row[],
  later: (partition: PartitionValues) => Row | undefined,
): Heads {
  const isWanted = wanted(request);
  const waiting: WaitingTask[] = [];
  let nextAt: number | null = null;
  let values: PartitionValues = [-1, "", "", 0];
  for (let row = next(values); row !== undefined; row = next(values)) {
    const partition = toPartition(row);
    values = [partition.suspect, partition.name, partition.tags, partition.priority];
    if (!isWanted(partition)) continue;
    for (const found of head(values)) waiting.push(toWaiting(found, partition, request, 0));
    const at = integerOrNull(later(values) ?? { at: null }, "at");
    if (at !== null && (nextAt === null || at < nextAt)) nextAt = at;
  }
  return { waiting, nextAt };
}

function wanted({
  names,
  tags: filter,
  allowSuspect,
}: LeaseTasksRequest): (partition: QueuePartition) => boolean {
  const known = new Set(names);
  return ({ suspect, name, tags }) => {
    if (!known.has(name) || (suspect === 1 && !allowSuspect)) return false;
    if (tags === "" || filter === "any") return acceptsTags(filter, null);
    // Unreadable tags exclude no worker: the worker that leases the task fails it as poison (provider.3).
    const set = tagsOf({ tags });
    return filter !== "none" && (set === undefined || acceptsTags(filter, set));
  };
}

function toPartition(row: Row): QueuePartition {
  return {
    suspect: integer(row, "suspect"),
    name: text(row, "name"),
    tags: text(row, "tags"),
    priority: integer(row, "priority"),
  };
}

function toWaiting(
  row: Row,
  { suspect, name, priority }: QueuePartition,
  ageing: Ageing,
  overdue: number,
): WaitingTask {
  return {
    instance: integer(row, "instance"),
    execution: integer(row, "execution"),
    sequence: integer(row, "sequence"),
    session: textOrNull(row, "session"),
    suspect: suspect === 1,
    runsAlone: suspect === 1 && (overdue === 1 || runsAlone(integer(row, "deaths"))),
    name,
    overdue,
    rank: queueRank(integer(row, "available_at"), priority, ageing),
  };
}
