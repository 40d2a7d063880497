// Queue figures: how many tasks of each queue wait, run and ended lately.
//   - Reports of outcomes are kept by second, for one minute.
//   - A job with a delay, or one that waits for another job, has no task yet. Its start, in the inbox, counts instead.

import type { QueueFigures, QueueKeyFigures, QueueOutcomes } from "../../core/provider/queues.ts";
import { JOB_VERSION } from "../../core/ids/semver.ts";
import { integer, integerOrNull, text, type Row } from "../columns.ts";
import type { StoreStatements } from "../parts.ts";
import { toKeyFigures, toOutcomes } from "../rows/queue-rows.ts";
import { run, together, type Script } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";

const SECOND_MS = 1_000;
const KEPT_MS = 60_000;
const IS_WAITING = "t.lease_owner IS NULL AND t.available_at <= now.at";

const FORGET = new Statement("DELETE FROM @queue_outcomes WHERE at <= $1::bigint");
const ADD = new Statement(`
  INSERT INTO @queue_outcomes AS o (name, at, completed, failed, retried)
  VALUES ($1, $2::bigint, $3::bigint, $4::bigint, $5::bigint)
  ON CONFLICT (name, at) DO UPDATE SET completed = o.completed + excluded.completed,
    failed = o.failed + excluded.failed, retried = o.retried + excluded.retried`);
const COUNT_TASKS = new Statement(`
  SELECT t.name, count(*) FILTER (WHERE ${IS_WAITING}) AS waiting,
    count(*) FILTER (WHERE t.lease_owner IS NOT NULL) AS running,
    count(*) FILTER (WHERE t.lease_owner IS NULL AND t.available_at > now.at) AS delayed,
    min(t.available_at) FILTER (WHERE ${IS_WAITING}) AS oldest
  FROM @tasks AS t CROSS JOIN (SELECT @now AS at) AS now GROUP BY t.name`);
/** The end of the target of every job (ids/targets.ts). */
const JOB_TARGET = `@${JOB_VERSION}`;
const COUNT_JOB_STARTS = new Statement(`
  SELECT s.name, count(*) FILTER (WHERE s.at <= now.at) AS waiting,
    count(*) FILTER (WHERE s.at > now.at) AS delayed,
    min(s.at) FILTER (WHERE s.at <= now.at) AS oldest
  FROM (
    SELECT substr(m.target, 1, length(m.target) - ${JOB_TARGET.length}) AS name, m.visible_at AS at
    FROM @inbox AS m WHERE m.kind = 'start' AND m.target LIKE '%${JOB_TARGET}'
  ) AS s CROSS JOIN (SELECT @now AS at) AS now GROUP BY s.name`);
const SUM_OUTCOMES = new Statement(`
  SELECT o.name, sum(o.completed) AS completed, sum(o.failed) AS failed, sum(o.retried) AS retried
  FROM @queue_outcomes AS o WHERE o.at > @now - ${KEPT_MS} GROUP BY o.name`);
const SELECT_NAMES = new Statement(`
  SELECT q.name FROM @queues AS q WHERE q.rule IS NOT NULL OR q.paused IS NOT NULL`);
const COUNT_KEYS = new Statement(`
  SELECT c.key, c.waiting, c.running FROM (
    SELECT coalesce(t.queue_key, '') AS key, count(*) FILTER (WHERE ${IS_WAITING}) AS waiting,
      count(*) FILTER (WHERE t.lease_owner IS NOT NULL) AS running
    FROM @tasks AS t CROSS JOIN (SELECT @now AS at) AS now WHERE t.name = $1 GROUP BY 1
  ) AS c WHERE c.waiting > 0 ORDER BY c.waiting DESC, c.key LIMIT $2::bigint`);

const NOTHING = { completed: 0, failed: 0, retried: 0 };

/** Adds to the outcomes of the current second. */
export function* reportOutcomes(outcomes: readonly QueueOutcomes[], now: number): Script<void> {
  const at = Math.floor(now / SECOND_MS) * SECOND_MS;
  const byName = (a: QueueOutcomes, b: QueueOutcomes): number => (a.name < b.name ? -1 : 1);
  const adds = outcomes
    .toSorted(byName) // rows are locked in one order
    .map(({ name, completed, failed, retried }) => call(ADD, name, at, completed, failed, retried));
  yield* together(call(FORGET, now - KEPT_MS), ...adds);
}

export function* readQueueFigures({
  countFailedJobs,
}: Pick<StoreStatements, "countFailedJobs">): Script<readonly QueueFigures[]> {
  const [tasks, starts, outcomes, failures, queues] = yield* together(
    call(COUNT_TASKS),
    call(COUNT_JOB_STARTS),
    call(SUM_OUTCOMES),
    call(countFailedJobs),
    call(SELECT_NAMES),
  );
  const counted = byName(tasks.rows);
  const unstarted = byName(starts.rows);
  const ended = byName(outcomes.rows);
  const failed = byName(failures.rows);
  const names = new Set([
    ...counted.keys(),
    ...unstarted.keys(),
    ...ended.keys(),
    ...failed.keys(),
    ...byName(queues.rows).keys(),
  ]);
  return [...names].toSorted().map((name) => {
    const rows = [counted.get(name), unstarted.get(name)];
    const oldest = rows.flatMap((row) => (row && integerOrNull(row, "oldest")) ?? []);
    return {
      name,
      waiting: sum(rows, "waiting"),
      running: sum(rows.slice(0, 1), "running"),
      delayed: sum(rows, "delayed"),
      oldestAvailableAt: oldest.length === 0 ? null : Math.min(...oldest),
      recent: recentOf(ended.get(name)),
      failedJobs: sum([failed.get(name)], "failed_jobs"),
    };
  });
}

function sum(rows: readonly (Row | undefined)[], column: string): number {
  return rows.reduce((total, row) => total + (row === undefined ? 0 : integer(row, column)), 0);
}

export function* readQueueKeys(name: string, limit: number): Script<readonly QueueKeyFigures[]> {
  return (yield* run(COUNT_KEYS, name, limit)).map(toKeyFigures);
}

function byName(rows: readonly Row[]): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [text(row, "name"), row]));
}

function recentOf(row: Row | undefined): QueueFigures["recent"] {
  if (row === undefined) return NOTHING;
  const { completed, failed, retried } = toOutcomes(row);
  return { completed, failed, retried };
}
