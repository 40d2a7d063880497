// A service that provisions databases: orchestrations that create, watch, back up, prune and delete databases, and an
// external catalogue that shows the effects.

import { expect, test } from "vitest";
import { activity, event, orchestration, type Client } from "../../../src/index.ts";
import { failureOf, open, state } from "./support.ts";

interface Entry {
  readonly name: string;
  state: "provisioning" | "running" | "deleting" | "failed";
  actor?: string;
}
interface Watched {
  readonly name: string;
  readonly checks: number;
}
const deleted = event("deleted");

/** The catalogue and the machines, which exist independently of a process. */
function makeService(
  options: { readonly readyAfter?: number; readonly isReachable?: boolean } = {},
) {
  const { readyAfter = 2, isReachable = true } = options;
  const catalogue = new Map<string, Entry>();
  const machines = new Set<string>();
  const images = new Map<string, "pending" | "ready">();
  const counts = { polls: 0, checks: 0, jobPolls: 0, prunes: 0 };

  const enter = activity("enter", async (name: string) => {
    catalogue.set(name, { name, state: "provisioning" });
  });
  const setState = activity(
    "set-state",
    async ({ name, state: to }: Pick<Entry, "name" | "state">) => {
      const entry = catalogue.get(name);
      if (entry !== undefined) entry.state = to;
    },
  );
  const recordActor = activity(
    "record-actor",
    async ({ name, actor }: { name: string; actor: string }) => {
      const entry = catalogue.get(name);
      if (entry !== undefined) entry.actor = actor;
    },
  );
  const strike = activity("strike", async (name: string) => void catalogue.delete(name));
  const lookUp = activity("look-up", async (name: string) => catalogue.get(name) ?? null);
  const deploy = activity("deploy", async (name: string) => void machines.add(name));
  const tearDown = activity("tear-down", async (name: string) => void machines.delete(name));
  const isReady = activity("is-ready", async (_: string) => ++counts.polls >= readyAfter);
  const connect = activity("connect", async (name: string) => {
    if (!isReachable || !machines.has(name)) throw new Error(`${name} cannot be reached`);
    return `postgres://${name}.local`;
  });
  const recordCheck = activity("record-check", async (_: string) => void counts.checks++);
  const notify = activity("notify", async (actor: string, { client }) =>
    client.raise(actor, deleted.name),
  );
  const beginBackup = activity("begin-backup", async (image: string) => {
    images.set(image, "pending");
    return `job-${image}`;
  });
  const isBackedUp = activity("is-backed-up", async (_: string) => ++counts.jobPolls >= 3);
  const finishImage = activity(
    "finish-image",
    async (image: string) => void images.set(image, "ready"),
  );
  const prune = activity("prune", async (_: number, { client, info }) => {
    counts.prunes++;
    return (await client.prune(info.instanceId, { keepLast: 2 })).executions;
  });

  const actor = orchestration("actor", async (ctx, { name, checks }: Watched): Promise<number> => {
    const entry = await ctx.run(lookUp, name);
    if (entry === null) return checks;
    const isHealthy = await ctx.run(connect, name).then(
      () => true,
      () => false,
    );
    if (isHealthy) await ctx.run(recordCheck, name);
    const first = await ctx.race({ next: ctx.sleep(10), deleted: ctx.waitFor(deleted) });
    if (first.key === "deleted") return checks + 1;
    return ctx.continueAsNew({ name, checks: checks + 1 });
  });

  const create = orchestration("create", async (ctx, name: string) => {
    await ctx.run(enter, name);
    try {
      await ctx.run(deploy, name);
      for (let poll = 0; !(await ctx.run(isReady, name)); poll++) {
        if (poll === 60) throw new Error(`${name} never became ready`);
        await ctx.sleep(5);
      }
      const address = await ctx.run(connect, name);
      await ctx.run(setState, { name, state: "running" });
      const watcher = `actor-${name}`;
      void ctx.startDetached(actor, { name, checks: 0 }, { id: watcher });
      await ctx.run(recordActor, { name, actor: watcher });
      return { status: "created" as const, address };
    } catch (error) {
      ctx.log.error("creation failed", { name });
      await ctx.run(setState, { name, state: "failed" });
      await ctx.run(tearDown, name);
      return { status: "failed" as const, why: error instanceof Error ? error.message : "" };
    }
  });

  const remove = orchestration("remove", async (ctx, name: string) => {
    const entry = await ctx.run(lookUp, name);
    if (entry === null) return "not found";
    await ctx.run(setState, { name, state: "deleting" });
    if (entry.actor !== undefined) {
      await ctx.run(notify, entry.actor).catch(() => ctx.log.warn("no actor to notify", { name }));
    }
    await ctx.run(tearDown, name);
    await ctx.run(strike, name);
    return "deleted";
  });

  const backUp = orchestration("back-up", async (ctx, name: string) => {
    const image = `${name}-${ctx.now().toISOString()}`;
    const job = await ctx.run(beginBackup, image);
    while (!(await ctx.run(isBackedUp, job))) await ctx.sleep(5);
    await ctx.run(finishImage, image);
    return image;
  });

  const pruner = orchestration("pruner", async (ctx, round: number): Promise<never> => {
    await ctx.run(prune, round);
    await ctx.sleep(5);
    return ctx.continueAsNew(round + 1);
  });

  const activities = [
    ...[enter, setState, recordActor, strike, lookUp, deploy, tearDown, isReady, connect],
    ...[recordCheck, notify, beginBackup, isBackedUp, finishImage, prune],
  ];
  const register = [actor, create, remove, backUp, pruner, ...activities];
  return { actor, create, remove, backUp, pruner, register, catalogue, machines, images, counts };
}

async function checked(
  client: Client,
  counts: { readonly checks: number },
  least: number,
): Promise<void> {
  await state(client.get("actor-db"), () => counts.checks >= least);
}

test("a database is entered in the catalogue, deployed, polled until it is ready, and watched", async () => {
  const service = makeService({ readyAfter: 3 });
  const { client } = await open(service.register);
  const handle = await client.start(service.create, "db");
  expect(await handle.result()).toEqual({ status: "created", address: "postgres://db.local" });
  expect(service.catalogue.get("db")).toMatchObject({ state: "running", actor: "actor-db" });
  expect(service.counts.polls).toBe(3);
  expect(await client.get("actor-db").exists()).toBe(true);
});

test("an unreachable database is torn down, and its catalogue entry has the state failed", async () => {
  const service = makeService({ isReachable: false });
  const { client } = await open(service.register);
  expect(await (await client.start(service.create, "db")).result()).toEqual({
    status: "failed",
    why: "db cannot be reached",
  });
  expect(service.catalogue.get("db")?.state).toBe("failed");
  expect([...service.machines]).toEqual([]);
});

test("an actor checks its database repeatedly until the database is gone", async () => {
  const service = makeService();
  service.catalogue.set("db", { name: "db", state: "running" });
  service.machines.add("db");
  const { client } = await open(service.register);
  const handle = await client.start(service.actor, { name: "db", checks: 0 }, { id: "actor-db" });
  await checked(client, service.counts, 3);
  service.catalogue.delete("db");
  expect(await handle.result()).toBeGreaterThanOrEqual(3);
  expect((await handle.describe()).execution).toBeGreaterThanOrEqual(3);
});

test("deleting a database notifies its actor", async () => {
  const service = makeService();
  service.catalogue.set("db", { name: "db", state: "running", actor: "actor-db" });
  service.machines.add("db");
  const { client } = await open(service.register);
  const actor = await client.start(service.actor, { name: "db", checks: 0 }, { id: "actor-db" });
  await checked(client, service.counts, 1);
  expect(await (await client.start(service.remove, "db")).result()).toBe("deleted");
  expect(await actor.result()).toBeGreaterThanOrEqual(1);
  expect([service.catalogue.size, service.machines.size]).toEqual([0, 0]);
  expect(await (await client.start(service.remove, "db")).result()).toBe("not found");
});

test("a backup job is started and polled until it is done", async () => {
  const service = makeService();
  const { client } = await open(service.register, { runtime: { stickyCacheMax: 0 } });
  const image = await (await client.start(service.backUp, "db")).result();
  expect(image).toMatch(/^db-\d{4}-\d\d-\d\dT/);
  expect(service.images.get(image)).toBe("ready");
  expect(service.counts.jobPolls).toBe(3);
});

test("an eternal pruner keeps its number of executions small and can be cancelled", async () => {
  const service = makeService();
  const { client } = await open(service.register);
  const handle = await client.start(service.pruner, 0);
  await state(handle, ({ execution }) => execution >= 6);
  await handle.cancel("test is over");
  expect(await failureOf(handle.result())).toMatchObject({ kind: "cancelled" });
  expect(service.counts.prunes).toBeGreaterThanOrEqual(5);
  expect((await handle.executions()).length).toBeLessThanOrEqual(3);
});

test("a database is created, watched, backed up and deleted", async () => {
  const service = makeService();
  const { client } = await open(service.register);
  expect(await (await client.start(service.create, "db")).result()).toMatchObject({
    status: "created",
  });
  await checked(client, service.counts, 2);
  await (await client.start(service.backUp, "db")).result();
  const actor = client.get(service.actor, "actor-db");
  expect(await (await client.start(service.remove, "db")).result()).toBe("deleted");
  expect(await actor.result()).toBeGreaterThanOrEqual(2);
  expect([...service.catalogue.keys()]).toEqual([]);
  expect((await client.list({ status: "running" })).items).toEqual([]);
});
