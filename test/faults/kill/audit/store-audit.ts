// The audit of a store after the last process has ended. It covers every instance, regardless of which client started
// it.

import { Client } from "../../../../src/index.ts";
import type { Outcome } from "./ack-log.ts";
import type { Fault } from "../faults.ts";
import { historyFaults } from "./history-audit.ts";
import { callsOf, type Call } from "./run-audit.ts";
import { openAddress } from "../store-address.ts";
import { type StoreUnderTest } from "../stores.ts";

export interface StoreAudit {
  readonly faults: readonly Fault[];
  readonly calls: readonly Call[];
  /** By instance id: the value, or the final status of an instance without a value. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly instances: number;
  readonly executions: number;
  readonly events: number;
}

export interface AuditOptions {
  /** Instances that may have been cancelled, by id; by default none. */
  readonly mayBeCancelled?: (id: string) => boolean;
  /** Instances that may stay blocked, with tasks and messages left over, by id; by default none. */
  readonly mayBeBlocked?: (id: string) => boolean;
}

export async function auditStore(
  store: StoreUnderTest,
  { mayBeCancelled = () => false, mayBeBlocked = () => false }: AuditOptions = {},
): Promise<StoreAudit> {
  const ids = await store.column("SELECT id FROM @instances ORDER BY key");
  const faults = await leftovers(store, mayBeBlocked);
  const calls: Call[] = [];
  const outcomes = new Map<string, Outcome>();
  let executions = 0;
  let events = 0;
  const provider = await openAddress(store.address);
  const client = new Client(provider);
  for (const id of ids) {
    const handle = client.get(id);
    const { status, blocked, output } = await handle.describe();
    const expected = mayBeCancelled(id) ? "cancelled" : "completed";
    outcomes.set(id, status === "completed" ? { value: output } : { error: status });
    const isWaiting = blocked !== undefined && mayBeBlocked(id);
    if (blocked !== undefined && !isWaiting) {
      faults.push({ kind: "ended", what: `${id} is blocked: ${blocked.code} ${blocked.message}` });
    } else if (status !== expected && !isWaiting) {
      const kind = ["pending", "running", "paused"].includes(status) ? "stuck" : "ended";
      faults.push({ kind, what: `${id} is ${status}` });
    }
    const lives = await handle.executions();
    for (const [index, { execution }] of lives.entries()) {
      const history = await handle.history({ execution });
      const place = `${id} #${execution}`;
      if (execution !== index + 1) {
        faults.push({ kind: "unsound", what: `${place} is at position ${index + 1}` });
      }
      for (const { kind, what } of isWaiting ? [] : historyFaults(history)) {
        faults.push({ kind, what: `${place}: ${what}` });
      }
      calls.push(...callsOf(id, execution, history));
      events += history.length;
    }
    executions += lives.length;
  }
  await provider.close();
  return { faults, calls, outcomes, instances: ids.length, executions, events };
}

/** The instances that have not ended, read directly from the store's table. */
export function openInstances(store: StoreUnderTest): Promise<readonly string[]> {
  return store.column("SELECT id FROM @instances WHERE status IN ('pending', 'running')");
}

/** Faults that no handle shows: a damaged database, or tasks and messages left over. */
async function leftovers(
  store: StoreUnderTest,
  mayBeBlocked: (id: string) => boolean,
): Promise<Fault[]> {
  const damage = await store.damage();
  const rows = async (table: string, label: string): Promise<readonly string[]> => {
    const found = await store.column(
      `SELECT COALESCE(instances.id, 'none') || ' has ' || ${label}
       FROM @${table} LEFT JOIN @instances ON instances.key = ${table}.instance`,
    );
    return found.filter((row) => !mayBeBlocked(row.slice(0, row.indexOf(" "))));
  };
  const tasks = await rows("tasks", "tasks.name");
  const unread = await rows("inbox", "inbox.kind");
  const left = [
    ...damage.map((line) => `the database is damaged: ${line}`),
    ...tasks.map((task) => `a task is left: ${task}`),
    ...unread.map((message) => `a message is left: ${message}`),
  ];
  return left.map((what) => ({ kind: "unsound", what }));
}
