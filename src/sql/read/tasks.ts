// Tasks: reads of the tasks of an execution, and of the queues.
//   - A kind of tasks is a name, a set of tags (stored in order) and a priority.
//   - A task with an expired lease counts as running until another worker takes it over, because its worker
//       may still finish it.

import type { QueueRecord } from "../../core/provider/admin.ts";
import type { TaskAddress, TaskRecord } from "../../core/provider/tasks.ts";
import { tagsColumn, TASK_COLUMNS, toQueue, toTaskRecord } from "../rows/task-rows.ts";
import { run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const SELECT = new Statement(`
  SELECT ${TASK_COLUMNS} FROM @tasks AS t WHERE t.instance = $1 AND t.execution = $2
  ORDER BY t.sequence`);
const SELECT_QUEUES = new Statement(`
  SELECT t.name, ${tagsColumn("t")}, t.priority,
    count(*) FILTER (WHERE t.lease_owner IS NULL AND t.available_at <= now.at) AS waiting,
    count(*) FILTER (WHERE t.lease_owner IS NOT NULL) AS running,
    count(*) FILTER (WHERE t.lease_owner IS NULL AND t.available_at > now.at) AS delayed,
    min(t.available_at) FILTER (WHERE t.lease_owner IS NULL AND t.available_at <= now.at) AS oldest
  FROM @tasks AS t CROSS JOIN (SELECT @now AS at) AS now
  GROUP BY t.name, t.tags, t.priority ORDER BY t.name, t.tags, t.priority`);

export function* readTasks(address: Omit<TaskAddress, "sequence">): Script<readonly TaskRecord[]> {
  return (yield* run(SELECT, address.key, address.execution)).map(toTaskRecord);
}

export function* readQueues(): Script<readonly QueueRecord[]> {
  return (yield* run(SELECT_QUEUES)).map(toQueue);
}
