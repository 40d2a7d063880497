// A store with texts of every kind in it, and what of them can be read: for tests that change it behind its back.
//   LS1. Nobody runs on it. What is read is what a user or a runtime would be handed, text by text.
//   LS2. Of each reading there is a value, or a refusal with a code. Any other error is the test's.

import { randomBytes } from "node:crypto";
import {
  activity,
  Client,
  isPerdureError,
  orchestration,
  PerdureError,
  type ErrorCode,
  type Provider,
} from "../../src/index.ts";
import { startRuntime, until } from "../trouble/support.ts";

export const double = activity("double", (n: number) => n * 2);
const nobodys = activity("nobody's", (text: string) => text);

/** Waits with a status, a value and a timer; ends well, or badly; or waits for an activity that nobody runs. */
export const laden = orchestration("laden", async (ctx, n: number) => {
  ctx.setStatus(`status ${n}`);
  ctx.kv.set("note", `value ${n}`);
  ctx.setAttributes({ number: String(n) });
  const doubled = await ctx.run(double, n);
  if (n % 4 === 1) return `output ${doubled}`;
  if (n % 4 === 2) throw new Error(`error ${doubled}`);
  if (n % 4 === 3) return ctx.run(nobodys, `input ${doubled}`);
  await ctx.all([ctx.event("go"), ctx.sleep("400d")]);
  return doubled;
});

export const idOf = (n: number): string => `laden-${n}`;

/** Fills a store with so many instances, as far as they come. */
export async function lade(provider: Provider, instances: number): Promise<readonly string[]> {
  const client = new Client(provider);
  const runtime = await startRuntime(provider, [laden, double]);
  const ids = Array.from({ length: instances }, (_, n) => idOf(n));
  await Promise.all(ids.map((id, n) => client.start(laden, n, { id })));
  for (const [n, id] of ids.entries()) {
    const hasCome = async (): Promise<boolean> => {
      const { status, waitingFor } = await client.get(id).describe();
      const names = waitingFor.map((wait) => ("name" in wait ? wait.name : wait.kind));
      if (n % 4 === 0) return names.includes("go");
      return n % 4 === 3
        ? names.includes(nobodys.name)
        : status === "completed" || status === "failed";
    };
    await until(`${id} has come as far as it does`, hasCome);
  }
  await runtime.shutdown();
  for (const [n, id] of ids.entries()) {
    if (n % 4 === 0 || n % 4 === 3) await client.get(id).raise("other", `message ${n}`);
  }
  return ids;
}

/** What was read under one name. `users`: a text of theirs, or a history; else ids, times, counts. */
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
      if (unreadable !== undefined) return told(unreadable);
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
    await read(`${id} unread`, true, () => handle.unread());
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
      names: [nobodys.name],
      tags: "untagged",
      sessions: null,
      allowSuspect: false,
    });
    await provider.commit(tasks.map((task) => ({ kind: "releaseTask", task })));
    const refused = tasks.filter(({ undecodable }) => undecodable === true);
    if (refused.length > 0) return told(`task ${refused[0]?.key} is not what was written`);
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

/** What is told in another way than by an error: as one, for these tests. */
function told(message: string): never {
  throw new PerdureError("HISTORY_CORRUPT", message);
}
