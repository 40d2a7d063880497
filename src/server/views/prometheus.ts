// The store's metrics in the Prometheus text format, followed by the lines of the option `prometheus`.

import type { Services } from "../services.ts";

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

export async function prometheusText({
  client,
  sampler,
  settings,
  provider,
}: Services): Promise<string> {
  const metrics = await sampler.metrics();
  const queues = await client.queues();
  const runtimes = await client.runtimes();
  const own = [
    gauge(
      "perdure_instances",
      "Instances by status.",
      Object.entries(metrics.instances).map(([status, count]): Sample => [{ status }, count]),
    ),
    gauge("perdure_instances_paused", "Paused instances.", [[{}, metrics.paused]]),
    gauge("perdure_instances_blocked", "Blocked instances.", [[{}, metrics.blocked]]),
    gauge("perdure_executions", "Executions in the store.", [[{}, metrics.executions]]),
    gauge("perdure_history_events", "History events in the store.", [[{}, metrics.events]]),
    gauge("perdure_messages_due", "Messages that are due and not yet processed.", [
      [{}, metrics.dueMessages],
    ]),
    gauge("perdure_messages_kept", "Events kept for instances that do not exist, by state.", [
      [{ state: "waiting" }, metrics.keptMessages],
      [{ state: "expired" }, metrics.expiredMessages],
    ]),
    gauge(
      "perdure_leases_stranded",
      "Leases that the store lists for live runtimes and that the runtimes do not know.",
      [[{}, metrics.strandedLeases]],
    ),
    gauge("perdure_work_unclaimed", "Kinds of work that no live runtime accepts.", [
      [{}, metrics.unclaimed.length],
    ]),
    gauge(
      "perdure_tasks",
      "Tasks by activity, tags, priority and state.",
      queues.flatMap(({ name, kinds }) =>
        kinds.flatMap(({ tags, priority, waiting, running, delayed }): Sample[] => {
          const labels = { activity: name, tags: tags.join(","), priority: String(priority) };
          return [
            [{ ...labels, state: "waiting" }, waiting],
            [{ ...labels, state: "running" }, running],
            [{ ...labels, state: "delayed" }, delayed],
          ];
        }),
      ),
    ),
    gauge(
      "perdure_queue_oldest_age_seconds",
      "Age of the oldest waiting task of a queue; 0 if none waits.",
      queues.map(({ name, oldestAgeMs }): Sample => [{ queue: name }, (oldestAgeMs ?? 0) / 1_000]),
    ),
    gauge(
      "perdure_queue_failed_jobs",
      "Failed jobs of a queue that are still stored.",
      queues.map(({ name, failures }): Sample => [{ queue: name }, failures]),
    ),
    gauge(
      "perdure_queue_paused",
      "1 if the queue is paused, 0 otherwise.",
      queues.map(({ name, paused }): Sample => [{ queue: name }, paused === null ? 0 : 1]),
    ),
    gauge(
      "perdure_runtime_beat_age_seconds",
      "Age of a runtime's last heartbeat.",
      runtimes.map(({ id, hostname, lastBeatAt }): Sample => {
        const age = Math.max(0, provider.now() - lastBeatAt.getTime()) / 1_000;
        return [{ runtime: id, hostname }, age];
      }),
    ),
  ].join("");
  const more = settings.prometheus === null ? "" : await settings.prometheus();
  return own + more;
}

function gauge(name: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join("")}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
