// A store with users' texts of every kind, and a reader of all of them: for tests that change the store behind its
// back.
//   - No runtime runs on it. The reader reads each text as a user or a runtime would get it.
//   - Each reading yields a value, or a refusal with a code. Any other error is a fault of the test.

import { randomBytes } from "node:crypto";
import {
  activity,
  Client,
  isPerdureError,
  orchestration,
  PerdureError,
  type ErrorCode,
  type Provider,
} from "../../../src/index.ts";
import { startRuntime, until } from "../trouble/support.ts";

export const double = activity("double", (n: number) => n * 2);
const unregistered = activity("unregistered", (text: string) => text);

/**
 * Depending on n: waits with a status, a value and a timer; completes; fails; or waits for an activity that no worker
 * runs.
 */
export const filled = orchestration("filled", async (ctx, n: number) => {
  ctx.setStatus(`status ${n}`);
  ctx.kv.set("note", `value ${n}`);
  ctx.setAttributes({ number: String(n) });
  const doubled = await ctx.run(double, n);
  if (n % 4 === 1) return `output ${doubled}`;
  if (n % 4 === 2) throw new Error(`error ${doubled}`);
  if (n % 4 === 3) return ctx.run(unregistered, `input ${doubled}`);
  await ctx.all([ctx.waitFor("go"), ctx.sleep("400d")]);
  return doubled;
});

export const idOf = (n: number): string => `filled-${n}`;

/** Fills a store with that many instances, and waits until each of them can make no more progress. */
export async function fillStore(provider: Provider, instances: number): Promise<readonly string[]> {
  const client = new Client(provider);
  const runtime = await startRuntime(provider, [filled, double]);
  const ids = Array.from({ length: instances }, (_, n) => idOf(n));
  await Promise.all(ids.map((id, n) => client.start(filled, n, { id })));
  for (const [n, id] of ids.entries()) {
    const hasSettled = async (): Promise<boolean> => {
      const { status, waitingFor } = await client.get(id).describe();
      const names = waitingFor.map((wait) => ("name" in wait ? wait.name : wait.kind));
      if (n % 4 === 0) return names.includes("go");
      return n % 4 === 3
        ? names.includes(unregistered.name)
        : status === "completed" || status === "failed";
    };
    await until(`${id} can make no more progress`, hasSettled);
  }
  await runtime.shutdown();
  for (const [n, id] of ids.entries()) {
    if (n % 4 === 0 || n % 4 === 3) await client.get(id).raise("other", `message ${n}`);
  }
  return ids;
}

/** One reading. `users`: it is a user's text or a history; otherwise it is ids, times or counts. */
export interface Reading {
  readonly users: boolean;
  readonly value: string | null;
  readonly code: ErrorCode | null;
}
export type Readings = ReadonlyMap<string, Reading>;

export async function readings(
  open: () => Promise<Provider>,
  ids: readonly string[],
): Promise<Readings> {
  const found = new Map<string, Reading>();
  const read = async (
    name: string,
    users: boolean,
    work: () => Promise<unknown>,
  ): Promise<void> => {
    try {
      found.set(name, { users, value: JSON.stringify(await work()) ?? "undefined", code: null });
    } catch (error) {
      if (!isPerdureError(error)) throw error;
      found.set(name, { users, value: null, code: error.code });
    }
  };
  const opened: Provider[] = [];
  await read("open", false, async () => void opened.push(await open()));
  for (const provider of opened) {
    await readAll(provider, ids, read);
    await provider.close();
  }
  return found;
}

type Read = (name: string, users: boolean, work: () => Promise<unknown>) => Promise<void>;

async function readAll(provider: Provider, ids: readonly string[], read: Read): Promise<void> {
  const client = new Client(provider);
  for (const id of ids) {
    const handle = client.get(id);
    const described = handle.describe();
    await read(`${id} texts`, true, async () => {
      const { customStatus, output, error, attributes, unreadable } = await described;
      if (unreadable !== undefined) return refuse(unreadable);
      return { customStatus, output, error: error?.message, attributes };
    });
    await read(`${id} rest`, false, async () => {
      const { id: shown, name, version, status, execution, priority } = await described;
      const { createdAt, updatedAt, completedAt, paused, blocked, parent, waitingFor } =
        await described;
      const times = { createdAt, updatedAt, completedAt };
      const rest = { paused, blocked, parent, waitingFor };
      return { shown, name, version, status, execution, priority, ...times, ...rest };
    });
    await read(`${id} history`, true, () => handle.history());
    await read(`${id} note`, true, () => handle.kv.get("note"));
    await read(`${id} unread`, true, async () => (await handle.unread()).items);
    await read(`${id} executions`, false, () => handle.executions());
  }
  const owner = `reader-${randomBytes(4).toString("hex")}`;
  await read("runtime", false, () =>
    provider.registerRuntime({
      id: owner,
      nodeId: owner,
      process: null,
      hostname: "",
      registered: "{}",
    }),
  );
  await read("tasks", true, async () => {
    const { tasks } = await provider.leaseTasks({
      owner,
      token: 1,
      limit: 1_000,
      names: [unregistered.name],
      tags: "untagged",
      sessions: null,
      allowSuspect: false,
    });
    await provider.commit(tasks.map((task) => ({ kind: "releaseTask", task })));
    const refused = tasks.filter(({ undecodable }) => undecodable === true);
    if (refused.length > 0) return refuse(`task ${refused[0]?.key} is not what was written`);
    return tasks.map(({ key, sequence, name, input, options }) => [
      key,
      sequence,
      name,
      input,
      options,
    ]);
  });
  await read("removal", false, () => provider.removeRuntime(owner));
}

/** Turns damage that the API reports in a field into an error, so that the tests count it as a refusal. */
function refuse(message: string): never {
  throw new PerdureError("HISTORY_CORRUPT", message);
}
