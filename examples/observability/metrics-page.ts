// Metrics in the format of Prometheus, and a health check, from a client and a runtime.

import type { Metrics, Perdure } from "../../src/index.ts";

export async function metricsPage({ client, runtime }: Perdure): Promise<string> {
  const metrics = await client.metrics();
  const { turns, replays, providerErrors, activities, cachedInstances } = runtime.stats();
  const lines = Object.entries(metrics.instances).map(
    ([status, count]) => `perdure_instances{status="${status}"} ${count}`,
  );
  // Metrics of the store: the same in every process.
  lines.push(
    `perdure_instances_blocked ${metrics.blocked}`,
    `perdure_tasks_waiting ${metrics.waitingTasks}`,
    `perdure_tasks_running ${metrics.runningTasks}`,
    `perdure_work_unclaimed ${metrics.unclaimed.length}`,
  );
  // Metrics of this process, since it started.
  lines.push(
    `perdure_turns_total ${turns}`,
    `perdure_replays_total ${replays}`,
    `perdure_store_errors_total ${providerErrors}`,
    `perdure_activities_completed_total ${activities.completed}`,
    `perdure_activities_failed_total ${activities.failed}`,
    `perdure_instances_cached ${cachedInstances}`,
  );
  return `${lines.join("\n")}\n`;
}

/** What an operator should look at; empty if everything is fine. */
export function complaints(metrics: Metrics): readonly string[] {
  const found = metrics.unclaimed.map(({ reason }) => reason);
  if (metrics.blocked > 0) found.push(`${metrics.blocked} blocked instances`);
  return found;
}
