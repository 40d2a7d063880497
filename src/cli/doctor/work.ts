// The check-up of the work in a store: who is alive, what is stuck, what nobody takes, whose clock is off.

import type { Metrics } from "../../client/unclaimed.ts";
import type { Client } from "../../client/client.ts";
import { formatDuration } from "../../core/duration.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { RuntimeRecord } from "../../core/provider/runtimes.ts";
import { toldByMark } from "../../core/provider/transfer.ts";
import { LEASE_CHECK_OVERDUE_MS } from "../../runtime/lease-check.ts";
import { staleMsOf } from "../../runtime/liveness.ts";
import { isCertainlyGone, ownIdentity } from "../../runtime/process-identity.ts";
import { plural } from "../plural.ts";
import { ok, problem, warning, type Finding } from "./finding.ts";

const SKEW_MS_MAX = 1_000;
const SHOWN = 10;

export async function checkWork(client: Client, provider: Provider): Promise<readonly Finding[]> {
  const runtimes = await provider.listRuntimes();
  const now = provider.now();
  const own = ownIdentity();
  const isDead = (runtime: RuntimeRecord): boolean =>
    isCertainlyGone(runtime.process, own) || now - runtime.beatAt > staleMsOf(runtime);
  const dead = runtimes.filter(isDead);
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
  ];
}

/** None for a store that takes no part in a move. */
async function checkMark({ transfer }: Provider): Promise<readonly Finding[]> {
  const mark = (await transfer?.readMark()) ?? null;
  return mark === null ? [] : [problem("moved", toldByMark(mark))];
}

async function checkClock(
  client: Client,
  runtimes: readonly RuntimeRecord[],
  now: number,
): Promise<Finding> {
  const skew = now - Date.now();
  if (Math.abs(skew) > SKEW_MS_MAX) {
    const message = `the store's clock is ${formatDuration(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"} this machine's`;
    return warning("clock", message, "Timers and leases follow the store's clock.");
  }
  const ahead = runtimes.find(({ beatAt }) => beatAt - now > SKEW_MS_MAX);
  const newest = (await client.list({}, { limit: 1 })).items[0]?.createdAt.getTime() ?? 0;
  const latest = Math.max(ahead?.beatAt ?? 0, newest);
  if (latest - now > SKEW_MS_MAX) {
    const message = `the store holds a time that is ${formatDuration(latest - now)} ahead: a clock was set back, or is wrong`;
    const hint =
      "Timers and retries that were set before fire that much later. Keep the clocks in step (NTP).";
    return warning("clock", message, hint);
  }
  return ok("clock", "the store's clock and this machine's agree");
}

function checkAlive(alive: number, metrics: Metrics): Finding {
  const { waitingTasks, dueMessages } = metrics;
  if (alive > 0) return ok("runtimes", `${alive} alive`);
  if (waitingTasks + dueMessages === 0) return ok("runtimes", "none is alive, and nothing waits");
  const message = `none is alive, and ${plural(waitingTasks, "task")} and ${plural(dueMessages, "message")} wait`;
  return problem("runtimes", message, { hint: "Start one: perdure worker" });
}

/** Whoever is alive frees them by itself; what is found here has nobody who does. */
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
    return problem("leases", "runtimes that are dead still hold work", {
      hint: "The next worker that starts takes it over.",
      details: stale
        .slice(0, SHOWN)
        .map(
          ({ owner, instances, tasks }) =>
            `${owner}: ${plural(instances, "instance")}, ${plural(tasks, "task")}`,
        ),
    });
  }
  if (dead.length > 0) {
    const message = `${plural(dead.length, "dead runtime")} still registered, holding nothing`;
    return warning("leases", message, "The next worker that starts removes them.");
  }
  return ok("leases", "no dead runtime holds work");
}

/** Leases of live runtimes: no other runtime takes them over, so their work waits. */
function checkStranded(alive: readonly RuntimeRecord[], now: number): Finding {
  const stranded = alive.filter(({ strandedLeases }) => strandedLeases > 0);
  if (stranded.length > 0) {
    return problem("stranded", "live runtimes do not hold leases that the store lists for them", {
      hint: "The database may have lost its last commits. The runtimes release these leases within seconds; restart one that still shows here after a minute.",
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
      "Look for errors of the store in its log. An older version of Perdure does not compare: update it.";
    return warning("stranded", message, hint);
  }
  return ok("stranded", "live runtimes hold the leases that the store lists for them");
}

async function checkBlocked(client: Client): Promise<Finding> {
  const count = await client.count({ blocked: true });
  if (count === 0) return ok("blocked", "no instance is blocked");
  const { items } = await client.list({ blocked: true }, { limit: SHOWN });
  return problem("blocked", `${plural(count, "instance")} blocked`, {
    hint: "Look at one with perdure get; deploy code that replays its history, or fix it and perdure unblock.",
    details: items.map(
      ({ id, blocked }) => `${id}: ${blocked?.code ?? ""} ${blocked?.message ?? ""}`,
    ),
  });
}

function checkUnclaimed({ unclaimed }: Metrics): Finding {
  if (unclaimed.length === 0) return ok("unclaimed", "everything that waits can be taken");
  return problem("unclaimed", `${plural(unclaimed.length, "kind")} of work for nobody`, {
    hint: "Start a worker that registers them.",
    details: unclaimed
      .slice(0, SHOWN)
      .map(({ reason, since }) => `${reason}, since ${since.toISOString()}`),
  });
}
