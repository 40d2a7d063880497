// Pruning: deletes the histories of past executions that are no longer needed (admin.4).

import type { PruneRequest, Removed } from "../../core/provider/admin.ts";
import { lockHead } from "../read/heads.ts";
import { readExecutions } from "../read/history.ts";
import { type Script, together } from "../script/script.ts";
import { call, Statement } from "../script/statement.ts";
import type { ExecutionRecord } from "../../core/provider/instances.ts";

const DELETE = new Statement(`
  DELETE FROM @history WHERE instance = $1 AND execution = ANY ($2::bigint[])`);
const COUNT = new Statement(`
  UPDATE @instances SET past_executions = $1, past_events = $2 WHERE key = $3`);

/** Returns null if the instance does not exist. */
export function* pruneExecutions(request: PruneRequest): Script<Removed | null> {
  const { id, keepLast = 1, completedBefore } = request;
  const found = yield* lockHead(id);
  if (found === null) return null;
  const { key, execution: newest } = found;
  const all = yield* readExecutions(key); // oldest first
  const past = all.filter(({ execution }) => execution < newest);
  const among = past.slice(0, Math.max(past.length - Math.max(keepLast - 1, 0), 0));
  const gone = among.filter((execution) => endedBefore(execution, completedBefore));
  if (gone.length > 0) {
    const executions = gone.map(({ execution }) => execution);
    const eventsLeft = eventsOf(past) - eventsOf(gone);
    const count = call(COUNT, past.length - gone.length, eventsLeft, key);
    yield* together(call(DELETE, key, executions), count);
  }
  return { instances: 0, executions: gone.length, events: eventsOf(gone), messages: 0 };
}

function eventsOf(executions: readonly ExecutionRecord[]): number {
  return executions.reduce((events, { lastEvent }) => events + lastEvent, 0);
}

function endedBefore({ lastAt }: ExecutionRecord, time: number | undefined): boolean {
  return time === undefined || (lastAt > 0 && lastAt < time);
}
