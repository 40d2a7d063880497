// Checks the work in a store: live runtimes, leases, blocked instances, tasks without a worker, paused queues, clocks.

import type { Metrics } from "../../client/inspect/unclaimed.ts";
import type { Client } from "../../client/client.ts";
import { formatDuration } from "../../core/time/duration.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { RuntimeRecord } from "../../core/provider/runtimes.ts";
import { moveMarkMessage } from "../../core/provider/transfer.ts";
import { LEASE_CHECK_OVERDUE_MS } from "../../runtime/instances/lease-check.ts";
import { plural } from "../text/plural.ts";
import { WorkerLiveness } from "../text/worker-liveness.ts";
import { ok, problem, warning, type Finding } from "./finding.ts";

const SKEW_MS_MAX = 1_000;
const SHOWN = 10;

export async function checkWork(client: Client, provider: Provider): Promise<readonly Finding[]> {
  const liveness = await WorkerLiveness.read(provider);
  const { runtimes } = liveness;
  const now = provider.now();
  const dead = runtimes.filter((runtime) => liveness.isDead(runtime));
  const alive = runtimes.length - dead.length;
  const metrics = await client.metrics();
  return [
    ...(await checkMark(provider)),
    await checkClock(client, runtimes, now),
    checkAlive(alive, metrics),
    await checkLeases(provider, runtimes, dead),
    checkStranded(
      runtimes.filter((runtime) => !dead.includes(runtime)),
      now,
    ),
    await checkBlocked(client),
    checkUnclaimed(metrics),
    await checkQueues(client),
  ];
}

/** No finding for a store that is not part of a move. */
async function checkMark({ transfer }: Provider): Promise<readonly Finding[]> {
  const mark = (await transfer?.readMark()) ?? null;
  return mark === null ? [] : [problem("moved", moveMarkMessage(mark))];
}

async function checkClock(
  client: Client,
  runtimes: readonly RuntimeRecord[],
  now: number,
): Promise<Finding> {
  const skew = now - Date.now();
  if (Math.abs(skew) > SKEW_MS_MAX) {
    const message = `the store's clock is ${formatDuration(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"} this machine's`;
    return warning("clock", message, "Timers and leases use the store's clock.");
  }
  const ahead = runtimes.find(({ beatAt }) => beatAt - now > SKEW_MS_MAX);
  const newest = (await client.list({}, { limit: 1 })).items[0]?.createdAt.getTime() ?? 0;
  const latest = Math.max(ahead?.beatAt ?? 0, newest);
  if (latest - now > SKEW_MS_MAX) {
    const message = `the store contains a time that is ${formatDuration(latest - now)} in the future: a clock was set back, or is wrong`;
    const hint =
      "Timers and retries that were scheduled before fire that much later. Synchronize the clocks (NTP).";
    return warning("clock", message, hint);
  }
  return ok("clock", "the store's clock and this machine's agree");
}

function checkAlive(alive: number, metrics: Metrics): Finding {
  const { waitingTasks, dueMessages } = metrics;
  if (alive > 0) return ok("runtimes", `${alive} alive`);
  if (waitingTasks + dueMessages === 0) return ok("runtimes", "none is alive; no work is waiting");
  const message = `none is alive; ${plural(waitingTasks, "task")} and ${plural(dueMessages, "message")} are waiting`;
  return problem("runtimes", message, { hint: "Start a worker: perdure worker" });
}

/**
 * A live runtime takes over the leases of dead ones. If leases of dead runtimes are left, no live runtime did
 * so.
 */
async function checkLeases(
  provider: Provider,
  runtimes: readonly RuntimeRecord[],
  dead: readonly RuntimeRecord[],
): Promise<Finding> {
  const loads = await provider.readLoads();
  const known = new Set(runtimes.map(({ id }) => id));
  const gone = new Set(dead.map(({ id }) => id));
  const stale = loads.filter(({ owner }) => gone.has(owner) || !known.has(owner));
  if (stale.length > 0) {
    return problem("leases", "dead runtimes still hold leases", {
      hint: "The next worker that starts takes them over.",
      details: stale
        .slice(0, SHOWN)
        .map(
          ({ owner, instances, tasks }) =>
            `${owner}: ${plural(instances, "instance")}, ${plural(tasks, "task")}`,
        ),
    });
  }
  if (dead.length > 0) {
    const message = `${plural(dead.length, "dead runtime")} still registered, without leases`;
    return warning("leases", message, "The next worker that starts removes them.");
  }
  return ok("leases", "no dead runtime holds leases");
}

/**
 * Finds leases that the store lists for a live runtime but that the runtime does not hold. Their work does
 * not run.
 */
function checkStranded(alive: readonly RuntimeRecord[], now: number): Finding {
  const stranded = alive.filter(({ strandedLeases }) => strandedLeases > 0);
  if (stranded.length > 0) {
    return problem("stranded", "live runtimes do not know leases that the store lists for them", {
      hint: "The database may have lost its last commits. The runtimes release these leases within seconds. Restart a runtime that is still listed here after a minute.",
      details: stranded
        .slice(0, SHOWN)
        .map(({ id, strandedLeases }) => `${id}: ${plural(strandedLeases, "lease")}`),
    });
  }
  const overdue = alive.filter(
    ({ leasesCheckedAt, startedAt }) =>
      now - (leasesCheckedAt ?? startedAt) > LEASE_CHECK_OVERDUE_MS,
  );
  if (overdue.length > 0) {
    const message = `${plural(overdue.length, "live runtime")} did not compare leases with the store for ${formatDuration(LEASE_CHECK_OVERDUE_MS)}: ${overdue
      .slice(0, SHOWN)
      .map(({ id }) => id)
      .join(", ")}`;
    const hint =
      "Look for store errors in the log of the runtime. Older versions of Perdure do not compare leases: update them.";
    return warning("stranded", message, hint);
  }
  return ok("stranded", "live runtimes know all leases that the store lists for them");
}

async function checkBlocked(client: Client): Promise<Finding> {
  const count = await client.count({ blocked: true });
  if (count === 0) return ok("blocked", "no instance is blocked");
  const { items } = await client.list({ blocked: true }, { limit: SHOWN });
  return problem("blocked", `${plural(count, "instance")} blocked`, {
    hint: "See: perdure get <id>. Deploy code that replays the history, or fix the cause and run: perdure unblock <id>",
    details: items.map(
      ({ id, blocked }) => `${id}: ${blocked?.code ?? ""} ${blocked?.message ?? ""}`,
    ),
  });
}

function checkUnclaimed({ unclaimed }: Metrics): Finding {
  if (unclaimed.length === 0) return ok("unclaimed", "every waiting task has a worker");
  return problem("unclaimed", `${plural(unclaimed.length, "kind")} of work without a worker`, {
    hint: "Start a worker that registers the orchestrations and activities below.",
    details: unclaimed
      .slice(0, SHOWN)
      .map(({ reason, since }) => `${reason}, since ${since.toISOString()}`),
  });
}

async function checkQueues(client: Client): Promise<Finding> {
  const queues = await client.queues();
  const paused = queues.filter((queue) => queue.paused !== null);
  if (paused.length === 0) return ok("queues", "no queue is paused");
  const names = paused.slice(0, SHOWN).map(({ name, depth }) => `${name} (${depth} waiting)`);
  const message = `${plural(paused.length, "queue")} paused: ${names.join(", ")}`;
  return warning("queues", message, "Resume with: perdure queues <name> --resume");
}
