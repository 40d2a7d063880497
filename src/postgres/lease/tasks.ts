// Tasks: their rows, from insert to outcome.
//   - A write that removes a task's row must name its token. Whether the row was still there decides
//       (provider.tasks.1).
//   - A write that frees a task returns it to the queue (lease/task-queue.ts) in the same statement.

import { checksumOf } from "../../core/values/checksum.ts";
import type {
  CompletionItem,
  ReleaseTaskItem,
  RetryItem,
  SimpleResult,
} from "../../core/provider/commit.ts";
import { activityKey } from "../../core/provider/shared/message-keys.ts";
import { DONE, LEASE_LOST } from "../../core/provider/results.ts";
import type { NewTask, TaskAddress, TaskClaim } from "../../core/provider/tasks.ts";
import { ColumnArrays, plain } from "../sql/column-arrays.ts";
import { text, textOrNull } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";
import { INBOX_COLUMNS, OF_INSTANCE, ON_SAME_KEY } from "../read/inbox.ts";
import { TARGET } from "../../sql/rows/instance-rows.ts";
import { dueColumns, dueTime, messageChecksum } from "../read/messages.ts";
import { toDue } from "../../sql/script/scope.ts";
import type { ChangeDraft } from "../notify/change-draft.ts";
import type { Answer, Pipeline } from "../connection/pipeline.ts";
import { bumpSessions } from "./sessions.ts";
import {
  ADDRESS,
  addressColumns,
  CLAIM,
  claimColumns,
  CLEAR_LEASE,
  inOrder,
  IS_AT,
  IS_CLAIMED,
  matchingRows,
} from "./task-keys.ts";
import { HAS_RULE, KEEP_DEFERRED_SLOT, queueKeyOf } from "../../sql/rows/queue-rows.ts";
import { tagColumns } from "./task-rows.ts";
import { indexEquals } from "../../sql/index-lookup.ts";

const NEW_TASKS = new ColumnArrays({
  ...ADDRESS,
  lease_token: "bigint",
  delay: "bigint",
  checksum: "bigint",
  priority: "double precision",
  lease_owner: "text",
  name: "text",
  session: "text",
  tag_set: "text",
  tags: "text",
  options: "text",
  input: "text",
  queue_key: "text",
  weight: "double precision",
});
const ADDRESSES = new ColumnArrays(ADDRESS);
const CLAIMS = new ColumnArrays(CLAIM);
const OUTCOMES = new ColumnArrays({
  ...CLAIM,
  index: "bigint",
  checksum: "bigint",
  outcome: "text",
});
const RETRIES = new ColumnArrays({
  ...CLAIM,
  delay: "bigint",
  failure_checksum: "bigint",
  heartbeat_checksum: "bigint",
  died: "boolean",
  failure: "text",
  heartbeat: "text",
});

export type InstanceTask = NewTask & Omit<TaskAddress, "sequence">;

export class Tasks extends Subject {
  readonly #insert = this.prepare(`
    INSERT INTO @tasks (
      instance, execution, sequence, lease_token, lease_until, lease_owner, available_at,
      priority, name, session, tag_set, tags, options, input, checksum, queue_key, weight,
      holds_slot, attempt, deaths, suspect
    )
    SELECT
      t.instance, t.execution, t.sequence, t.lease_token, (SELECT @clock()) + t.delay,
      t.lease_owner, (SELECT @clock()), t.priority, t.name, t.session, t.tag_set,
      CASE WHEN t.tags IS NULL THEN '{}'
        ELSE ARRAY(SELECT json_array_elements_text(t.tags::json)) END,
      t.options, t.input, t.checksum, t.queue_key, t.weight,
      t.lease_token IS NOT NULL AND (${HAS_RULE}), 0, 0, false
    FROM ${NEW_TASKS.from("t")}`);
  // All or none: if a task of a turn is gone, the turn is refused. This is the cheapest way to find out.
  readonly #finish = this.prepare(`
    WITH gone AS (DELETE FROM @tasks AS t USING ${CLAIMS.from("c")} WHERE ${IS_CLAIMED} RETURNING 1)
    SELECT @refuse('a task is gone') FROM (SELECT count(*) AS found FROM gone) AS g
    WHERE found <> $${CLAIMS.width + 1}::bigint`);
  readonly #cancel = this.prepare(`
    DELETE FROM @tasks AS t USING ${ADDRESSES.from("c")} WHERE ${IS_AT} RETURNING t.instance`);
  readonly #clear = this.prepare(`
    DELETE FROM @tasks AS t USING unnest($1::bigint[]) AS k (key) WHERE ${indexEquals("t.instance", "k.key")}
    RETURNING t.instance`);
  readonly #complete = this.prepare(`
    WITH gone AS (
      DELETE FROM @tasks AS t USING ${OUTCOMES.from("c")} WHERE ${IS_CLAIMED}
      RETURNING c.n, c.index, t.instance, t.execution, t.sequence, c.outcome, c.checksum,
        c.session_claim, c.session_token
    ), bumped AS (${bumpSessions("gone")}), put AS (
      INSERT INTO @inbox (${INBOX_COLUMNS})
      SELECT ${OF_INSTANCE}, (SELECT @clock()), g.execution, g.sequence, 'activity', NULL,
        'a:' || g.execution || ':' || g.sequence, g.outcome, g.checksum
      FROM gone AS g JOIN @instances AS i ON ${indexEquals("i.key", "g.instance")} ORDER BY g.index ${ON_SAME_KEY} -- in the order of the items, not in lock order
    )
    SELECT g.n, i.id, i.lease_owner, ${TARGET} AS target
    FROM gone AS g LEFT JOIN @instances AS i ON ${indexEquals("i.key", "g.instance")}`);
  // A death counts for the task as the death of its runtime would (sql/lease/runtimes.ts).
  readonly #retry = this.prepare(`
    WITH freed AS (
      UPDATE @tasks AS t SET
        attempt = t.attempt + 1, suspect = t.suspect OR (c.died AND t.deaths >= 1),
        deaths = t.deaths + c.died::int, available_at = ${dueTime("c")}, deferred_until = NULL,
        last_failure = c.failure, failure_checksum = c.failure_checksum, avoid = t.lease_owner,
        heartbeat = coalesce(c.heartbeat, t.heartbeat),
        heartbeat_checksum = coalesce(c.heartbeat_checksum, t.heartbeat_checksum), ${CLEAR_LEASE},
        holds_slot = false
      FROM (SELECT r.*, NULL::bigint AS due_at FROM ${RETRIES.from("r")}) AS c
      WHERE ${IS_CLAIMED} RETURNING c.n, t.name, c.session_claim, c.session_token
    ), bumped AS (${bumpSessions("freed")})
    SELECT n, name FROM freed`);
  readonly #release = this.prepare(`
    UPDATE @tasks AS t SET ${CLEAR_LEASE}, ${KEEP_DEFERRED_SLOT} FROM ${CLAIMS.from("c")}
    WHERE ${IS_CLAIMED}
    RETURNING c.n, t.name`);

  insert(pipeline: Pipeline, tasks: readonly InstanceTask[]): void {
    if (tasks.length > 0) pipeline.add(this.#insert, NEW_TASKS.values(tasks.map(toColumns)));
  }

  /** Removes the rows. If a claim does not hold, the transaction is refused. */
  finish(pipeline: Pipeline, claims: readonly TaskClaim[]): void {
    if (claims.length === 0) return;
    const sorted = inOrder(claims.map(claimColumns));
    pipeline.add(this.#finish, [...CLAIMS.values(sorted), claims.length]);
  }

  /** The answer names the instances of the tasks that were there. */
  cancel(pipeline: Pipeline, tasks: readonly TaskAddress[]): Answer | null {
    if (tasks.length === 0) return null;
    return pipeline.add(this.#cancel, ADDRESSES.values(inOrder(tasks.map(addressColumns))));
  }

  /** Like `cancel`, for all tasks of these instances. */
  clear(pipeline: Pipeline, instances: readonly number[]): Answer | null {
    return instances.length === 0 ? null : pipeline.add(this.#clear, [plain(instances)]);
  }

  /**
   * Delivers outcomes to the inboxes of the instances. The returned function reads the results, in order,
   * after the run.
   */
  complete(
    pipeline: Pipeline,
    items: readonly CompletionItem[],
    changes: ChangeDraft,
  ): ReadResults {
    const sorted = inOrder(
      items.map(({ task, outcome }, index) => {
        const checksum = outcomeChecksum(task, outcome);
        return { ...claimColumns(task), outcome, checksum, index };
      }),
    );
    const answer = pipeline.add(this.#complete, OUTCOMES.values(sorted));
    return () => {
      for (const row of answer.rows) {
        const id = textOrNull(row, "id");
        if (id !== null) changes.due(id, toDue(row));
      }
      return resultsOf(items.length, matchingRows(answer.rows, sorted));
    };
  }

  /** Like `complete`. */
  retry(pipeline: Pipeline, items: readonly RetryItem[], changes: ChangeDraft): ReadResults {
    const sorted = inOrder(
      items.map(({ task, delayMs, failure, heartbeat, died }, index) => ({
        ...claimColumns(task),
        delay: dueColumns({ delayMs }).delay,
        died: died === true,
        failure,
        failure_checksum: checksumOf(failure),
        heartbeat: heartbeat ?? null,
        heartbeat_checksum: heartbeat === undefined ? null : checksumOf(heartbeat),
        index,
      })),
    );
    return freed(pipeline.add(this.#retry, RETRIES.values(sorted)), sorted, changes);
  }

  /** Like `complete`. */
  release(
    pipeline: Pipeline,
    items: readonly ReleaseTaskItem[],
    changes: ChangeDraft,
  ): ReadResults {
    const sorted = inOrder(items.map(({ task }, index) => ({ ...claimColumns(task), index })));
    return freed(pipeline.add(this.#release, CLAIMS.values(sorted)), sorted, changes);
  }
}

export type ReadResults = () => SimpleResult[];

function freed(
  answer: Answer,
  sorted: readonly { readonly index: number }[],
  changes: ChangeDraft,
): ReadResults {
  return () => {
    for (const row of answer.rows) changes.queued(text(row, "name"));
    return resultsOf(sorted.length, matchingRows(answer.rows, sorted));
  };
}

function resultsOf(length: number, done: readonly { readonly index: number }[]): SimpleResult[] {
  const results = Array.from({ length }, (): SimpleResult => LEASE_LOST);
  for (const { index } of done) results[index] = DONE;
  return results;
}

/** Once per task: without copies of objects. */
function toColumns(task: InstanceTask) {
  const { key, execution, sequence, name, session, priority, input, lease } = task;
  const leaseMs = lease?.leaseMs;
  const options = optionsText(task);
  const { tag_set, tags } = tagColumns(task.tags);
  return {
    instance: key,
    execution,
    sequence,
    lease_token: lease === null ? null : lease.token,
    delay: leaseMs === undefined ? null : dueColumns({ delayMs: leaseMs }).delay,
    checksum: taskChecksum(task, { tags, options }),
    priority,
    lease_owner: lease === null ? null : lease.owner,
    name,
    session,
    tag_set,
    tags,
    options,
    input,
    queue_key: queueKeyOf(task),
    weight: task.weight ?? null,
  };
}

export function optionsText({ options }: NewTask): string | null {
  return options === null ? null : JSON.stringify(options);
}

export function taskChecksum(
  { key, execution, sequence, name, session, input }: InstanceTask,
  { tags, options }: { readonly tags: string | null; readonly options: string | null },
): number {
  return checksumOf(key, execution, sequence, name, session, tags, options, input);
}

/** The checksum of the message that #complete inserts. */
function outcomeChecksum(task: TaskAddress, data: string): number {
  const { sequence } = task;
  const key = activityKey(task);
  return messageChecksum({ sequence, kind: "activity", name: null, key, data });
}
