// The audit of a store after the last process is gone: every instance, whoever started it.

import { DatabaseSync } from "node:sqlite";
import { Client } from "../../src/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { historyFaults } from "./history-audit.ts";
import { callsOf, type Call } from "./run-audit.ts";

export interface StoreAudit {
  readonly faults: readonly string[];
  readonly calls: readonly Call[];
  /** By instance id, as far as it has one. */
  readonly results: ReadonlyMap<string, unknown>;
  readonly instances: number;
  readonly executions: number;
  readonly events: number;
}

export async function auditStore(path: string): Promise<StoreAudit> {
  const { ids, faults } = rawFaults(path);
  const calls: Call[] = [];
  const results = new Map<string, unknown>();
  let executions = 0;
  let events = 0;
  const provider = await SqliteProvider.open(path);
  const client = new Client(provider);
  for (const id of ids) {
    const handle = client.get(id);
    const { status, blocked, output } = await handle.describe();
    if (blocked !== undefined) faults.push(`${id} is blocked: ${blocked.code} ${blocked.message}`);
    if (status !== "completed") faults.push(`${id} is ${status}`);
    results.set(id, output);
    const lives = await handle.executions();
    for (const [index, { execution }] of lives.entries()) {
      const history = await handle.history({ execution });
      if (execution !== index + 1) faults.push(`${id} has execution ${execution} at ${index + 1}`);
      faults.push(...historyFaults(history).map((fault) => `${id} #${execution}: ${fault}`));
      calls.push(...callsOf(id, execution, history));
      events += history.length;
    }
    executions += lives.length;
  }
  await provider.close();
  return { faults, calls, results, instances: ids.length, executions, events };
}

/** Who is not at its end, by the store's own word. */
export function openInstances(path: string): readonly string[] {
  using database = new DatabaseSync(path);
  const open = "SELECT id FROM instances WHERE status IN ('pending', 'running')";
  return database
    .prepare(open)
    .all()
    .map((row) => String(row["id"]));
}

/** What no handle shows: a file that is not whole, work left lying about. */
function rawFaults(path: string): { ids: string[]; faults: string[] } {
  using database = new DatabaseSync(path);
  const column = (sql: string): string[] =>
    database
      .prepare(sql)
      .all()
      .map((row) => String(Object.values(row)[0]));
  const whole = column("PRAGMA integrity_check").filter((line) => line !== "ok");
  const tasks = column("SELECT name || ' of instance ' || instance FROM tasks");
  const unread = column("SELECT kind || ' of instance ' || instance FROM inbox");
  return {
    ids: column("SELECT id FROM instances ORDER BY key"),
    faults: [
      ...whole.map((line) => `the file is damaged: ${line}`),
      ...tasks.map((task) => `a task is left: ${task}`),
      ...unread.map((message) => `a message is left: ${message}`),
    ],
  };
}
