// Rewind (semantics 21b) where it meets other features: blocks, many kept outcomes, messages between instances,
// families of instances, request ids, jobs, flows, encryption and a move to another store.

import { expect, onTestFinished, test, vi } from "vitest";
import { encryptingCodec } from "../../src/encryption/index.ts";
import {
  activity,
  defaultCodec,
  job,
  moveStore,
  orchestration,
  Perdure,
  unmarkStore,
  type ActivityContext,
  type Codec,
  type Handle,
  type InstanceInfo,
  type Provider,
  type Registrable,
} from "../../src/index.ts";
import { freshStore } from "../support/test-store.ts";

async function open(
  store: Provider,
  register: readonly Registrable[],
  codec: Codec = defaultCodec,
): Promise<Perdure> {
  const runtime = { log: () => undefined, shadowReplay: "always", codec } as const;
  const perdure = await Perdure.open(store, { register, runtime });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

async function failed(handle: Handle): Promise<void> {
  await expect(handle.result()).rejects.toThrow();
}

/** Waits until the instance looks like this. */
async function until(handle: Handle, condition: (info: InstanceInfo) => boolean): Promise<void> {
  for await (const info of handle.watch()) if (condition(info)) return;
  throw new Error(`"${handle.id}" has ended.`);
}

/** An activity that fails while `isDown` and notes its idempotency keys. */
function service(name: string) {
  const state = { isDown: false, keys: [] as string[] };
  const definition = activity(name, async (input: unknown, { idempotencyKey }: ActivityContext) => {
    state.keys.push(idempotencyKey);
    if (state.isDown) throw new Error(`${name} is down`);
    return input;
  });
  return Object.assign(state, { definition });
}

const isBlocked = ({ blocked }: InstanceInfo): boolean => blocked !== undefined;

test("work that completes while its instance is blocked is not repeated", async () => {
  const [slow, other, third] = [service("slow"), service("other"), service("third")];
  const code = (name: string) =>
    orchestration("fan", async (ctx) => {
      const work = ctx.run("slow", 1);
      await ctx.run(name, 2);
      return Promise.all([work, ctx.waitFor("end")]);
    });
  const store = await freshStore();
  const old = await open(store, [other.definition, code("other")]); // no worker runs "slow" yet
  const handle = await old.client.start("fan", undefined, { id: "f" });
  await until(handle, ({ waitingFor }) => waitingFor.some(({ kind }) => kind === "event"));
  await old.close({ graceMs: 0 });
  const { client } = await open(store, [third.definition, code("third")]);
  const blocked = client.get("f");
  await blocked.raise("end", 7);
  await until(blocked, isBlocked);
  await open(store, [slow.definition]);
  const key = (await store.readInstance("f"))?.key ?? 0;
  const hasOutcome = async () =>
    (await store.readInbox(key)).some(({ kind }) => kind === "activity");
  while (!(await hasOutcome())) await new Promise((resolve) => void setTimeout(resolve, 1));
  const report = await blocked.rewind({ to: "failure" });
  expect(report.kept.map(({ name }) => name)).toEqual(["slow"]);
  expect(await blocked.result()).toEqual([1, 7]);
  expect(slow.keys).toHaveLength(1);
});

test("many completed steps are kept: none is entered again", async () => {
  const runs: number[] = [];
  let isBroken = true;
  const fan = orchestration("fan", async (ctx) => {
    const bad = ctx.step(
      "bad",
      () => {
        if (isBroken) throw new Error("bad");
      },
      { attempts: 1 },
    );
    const steps = Array.from({ length: 80 }, (_, n) => ctx.step(`s${n}`, () => runs.push(n)));
    const results = await Promise.allSettled([bad, ...steps]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return results.length;
  });
  const { client } = await open(await freshStore(), [fan]);
  const handle = await client.start(fan, undefined, { id: "f" });
  await failed(handle);
  isBroken = false;
  const report = await handle.rewind({ to: "failure" });
  expect(report.kept).toHaveLength(80);
  expect(await handle.result()).toBe(81);
  expect(runs).toHaveLength(80);
});

test("all failures that ended an execution together are done again", async () => {
  const pay = service("pay");
  const many = orchestration("many", async (ctx) => {
    const calls = [1, 2, 3].map((n) => ctx.run(pay.definition, n));
    const results = await Promise.allSettled(calls);
    const reasons = results.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    if (reasons.length > 0) throw new AggregateError(reasons, "some payments failed");
    return results.length;
  });
  const { client } = await open(await freshStore(), [pay.definition, many]);
  pay.isDown = true;
  const handle = await client.start(many, undefined, { id: "m" });
  await failed(handle);
  pay.isDown = false;
  await handle.rewind({ to: "failure" });
  expect(await handle.result()).toBe(3);
  expect(new Set(pay.keys).size).toBe(3);
});

test("a message and a detached start whose outcome was not recorded happen once", async () => {
  const got: unknown[] = [];
  const receiver = orchestration("receiver", async (ctx) => {
    got.push(await ctx.waitFor("news"));
    await ctx.waitFor("end");
    return (await ctx.waitFor("news")) as unknown;
  });
  const detached = orchestration("detached", async () => 1);
  const code = (isFixed: boolean) =>
    orchestration("sender", async (ctx) => {
      await ctx.sleep(1);
      const sent = ctx.raise("r", "news", 1);
      const started = ctx.startDetached(detached, undefined, { id: "d" });
      const both = Promise.all([sent, started]);
      both.catch(() => undefined);
      if (!isFixed) throw new Error("bug");
      return (await both)[1];
    });
  const store = await freshStore();
  const old = await open(store, [receiver, detached, code(false)]);
  const target = await old.client.start(receiver, undefined, { id: "r" });
  const sender = await old.client.start("sender", undefined, { id: "s" });
  await failed(sender);
  const end = (await sender.history()).at(-1)?.sequence ?? 0;
  await old.close({ graceMs: 0 });
  const { client } = await open(store, [receiver, detached, code(true)]);
  await client.get("s").rewind({ before: end });
  expect(await client.get("s").result()).toBe("started");
  await client.get("r").raise("end");
  await client.get("r").raise("news", 2);
  expect(await client.get("r").result()).toBe(2);
  expect(target.id).toBe("r");
});

test("an abandoned child is rewound alone after its parent has ended or continued as new", async () => {
  const pay = service("pay");
  const child = orchestration("child", async (ctx) => {
    await ctx.waitFor("go");
    return ctx.run(pay.definition, 1);
  });
  const parent = orchestration("parent", async (ctx, left: number): Promise<unknown> => {
    const id = `child-${ctx.info.instanceId}-${left}`;
    void ctx.call(child, undefined, { id, onParentClose: "abandon" }).catch(() => undefined);
    await ctx.waitFor("on");
    return left === 0 ? "over" : ctx.continueAsNew(left - 1);
  });
  const { client } = await open(await freshStore(), [child, parent, pay.definition]);
  const handle = await client.start(parent, 1, { id: "p" });
  await handle.raise("on");
  await until(handle, ({ execution }) => execution === 2);
  pay.isDown = true;
  const early = client.get("child-p-1");
  await early.raise("go");
  await failed(early);
  pay.isDown = false;
  await early.rewind({ to: "failure" });
  expect(await early.result()).toBe(1);
  const late = client.get("child-p-0");
  await until(late, ({ waitingFor }) => waitingFor.length === 1);
  await handle.raise("on");
  expect(await handle.result()).toBe("over");
  pay.isDown = true;
  await late.raise("go");
  await failed(late);
  pay.isDown = false;
  await late.rewind({ to: "failure" });
  expect(await late.result()).toBe(1);
});

test("a child of an earlier execution does not answer a call that a rewind copied", async () => {
  const pay = service("pay");
  const child = orchestration("child", async (ctx) => ctx.waitFor("value"));
  const parent = orchestration("parent", async (ctx, left: number): Promise<unknown> => {
    const id = `child-${left}`;
    const answer = ctx.call(child, undefined, { id, onParentClose: "abandon" });
    answer.catch(() => undefined);
    if (left > 0) {
      await ctx.waitFor("on");
      return ctx.continueAsNew(left - 1);
    }
    await ctx.run(pay.definition, 1);
    return answer;
  });
  const { client } = await open(await freshStore(), [child, parent, pay.definition]);
  pay.isDown = true;
  const handle = await client.start(parent, 1, { id: "p" });
  await until(client.get("p"), ({ waitingFor }) => waitingFor.length === 2);
  await handle.raise("on");
  await failed(handle);
  pay.isDown = false;
  await handle.rewind({ to: "failure" });
  await client.get("child-1").raise("value", "of the earlier child");
  await client.get("child-1").result();
  await client.get("child-0").raise("value", "right");
  expect(await handle.result()).toBe("right");
});

test("a request id of a start is not a rewind, and a repeated rewind happens once", async () => {
  const pay = service("pay");
  const order = orchestration("order", async (ctx) => ctx.run(pay.definition, 1));
  const { client } = await open(await freshStore(), [order, pay.definition]);
  pay.isDown = true;
  const handle = await client.start(order, undefined, { id: "o", requestId: "r" });
  await failed(handle);
  await handle.rewind({ to: "failure", requestId: "r" });
  await failed(handle);
  expect((await handle.describe()).execution).toBe(2);
  const again = await handle.rewind({ to: "failure", requestId: "r" });
  expect(again).toMatchObject({ from: 1, execution: 2 });
  expect((await handle.describe()).execution).toBe(2);
  pay.isDown = false;
  const both = [handle.rewind({ to: "failure" }), client.get("o").rewind({ to: "failure" })];
  const outcomes = await Promise.allSettled(both);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(await handle.result()).toBe(1);
  expect(pay.keys).toHaveLength(3);
  expect(new Set(pay.keys).size).toBe(1);
});

test("a cut after a cancel request keeps the request", async () => {
  const clean = service("clean");
  const waiter = orchestration("waiter", async (ctx) => {
    try {
      await ctx.waitFor("never");
    } finally {
      await ctx.shield(() => ctx.run(clean.definition, 1));
    }
  });
  const { client } = await open(await freshStore(), [waiter, clean.definition]);
  const handle = await client.start(waiter, undefined, { id: "w" });
  await until(handle, ({ waitingFor }) => waitingFor.length === 1);
  await handle.cancel("enough");
  await failed(handle);
  await handle.rewind({ before: { activity: "clean" } });
  await failed(handle);
  expect(await handle.describe()).toMatchObject({
    ...{ status: "cancelled", execution: 2, cancelled: { reason: "enough" } },
  });
  expect(new Set(clean.keys).size).toBe(1);
});

test("a whole line of ancestors goes on, from the leaf and from the root", async () => {
  const pay = service("pay");
  const leaf = orchestration("leaf", async (ctx) => ctx.run(pay.definition, 1));
  const middle = orchestration("middle", async (ctx, id: string) =>
    ctx.call(leaf, undefined, { id }),
  );
  const root = orchestration("root", async (ctx, id: string) =>
    ctx.call(middle, `${id}-leaf`, { id: `${id}-middle` }),
  );
  const { client } = await open(await freshStore(), [leaf, middle, root, pay.definition]);
  for (const from of ["a-leaf", "a-middle", "a"]) {
    const prefix = from.replace("a", `a-${from.length}`);
    const id = `a-${from.length}`;
    pay.isDown = true;
    const handle = await client.start(root, id, { id });
    await failed(handle);
    pay.isDown = false;
    pay.keys.length = 0;
    const report = await client.get(prefix).rewind({ to: "failure", tree: true });
    expect(report.others).toHaveLength(2);
    expect(await handle.result()).toBe(1);
    expect(pay.keys).toHaveLength(1);
    expect((await client.get(`${id}-leaf`).describe()).execution).toBe(2);
  }
});

/** Pays, ships when the event "ship" comes, and ends when "end" comes. */
function deliveries(names: readonly string[]) {
  const pays = names.map((name) => service(`pay-${name}`));
  const ships = names.map((name) => service(`ship-${name}`));
  const deliver = orchestration("deliver", async (ctx, name: string) => {
    await ctx.run(`pay-${name}`, 1);
    await ctx.waitFor("ship");
    await ctx.run(`ship-${name}`, 1);
    return ctx.waitFor("end");
  });
  const register = [deliver, ...[...pays, ...ships].map(({ definition }) => definition)];
  return { pays, ships, deliver, register };
}

const waitsForEvent = ({ waitingFor }: InstanceInfo): boolean =>
  waitingFor.some(({ kind }) => kind === "event");

test("siblings that were cancelled with a failed child go on with it, and so do their children", async () => {
  const { pays, ships, deliver, register } = deliveries(["a", "b"]);
  const middle = orchestration("middle", async (ctx) => ctx.call(deliver, "b", { id: "b" }));
  const parent = orchestration("parent", async (ctx) =>
    ctx.all([
      () => ctx.call(deliver, "a", { id: "a" }),
      () => ctx.call(middle, undefined, { id: "middle" }),
    ]),
  );
  const { client } = await open(await freshStore(), [...register, middle, parent]);
  const [a, b] = [client.get("a"), client.get("b")];
  const handle = await client.start(parent, undefined, { id: "p" });
  await until(handle, ({ waitingFor }) => waitingFor.length === 2);
  await until(client.get("middle"), ({ waitingFor }) => waitingFor.length === 1);
  for (const each of [a, b]) await until(each, waitsForEvent);
  const [shipA, shipB] = ships;
  if (shipA === undefined || shipB === undefined) throw new Error("There are two.");
  // In each execution another child fails, and the rest of the family is cancelled.
  for (const [child, ship] of [[a, shipA] as const, [b, shipB] as const]) {
    ship.isDown = true;
    await child.raise("ship");
    await failed(handle);
    for (const each of [a, b, client.get("middle")]) await failed(each);
    ship.isDown = false;
    const report = await handle.rewind({ to: "failure", tree: true });
    expect(report.others.map(({ id }) => id)).toEqual(["a", "middle", "b"]);
    expect(report.redone).toEqual([]);
    for (const each of [a, b]) await until(each, waitsForEvent);
  }
  for (const each of [a, b]) await each.raise("end", each.id);
  expect(await handle.result()).toEqual(["a", "b"]);
  for (const { keys } of pays) expect(keys).toHaveLength(1);
  for (const { keys } of ships) expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  const { items } = await client.list({});
  expect(items.map(({ id, execution }) => [id, execution]).sort()).toEqual([
    ...[
      ["a", 3],
      ["b", 3],
      ["middle", 3],
      ["p", 3],
    ],
  ]);
});

test("from a child, tree includes the siblings that were cancelled with it", async () => {
  const { pays, ships, deliver, register } = deliveries(["a", "b"]);
  const parent = orchestration("parent", async (ctx) =>
    ctx.all(["a", "b"].map((id) => () => ctx.call(deliver, id, { id }))),
  );
  const { client } = await open(await freshStore(), [...register, parent]);
  const handle = await client.start(parent, undefined, { id: "p" });
  await until(handle, ({ waitingFor }) => waitingFor.length === 2);
  for (const id of ["a", "b"]) await until(client.get(id), waitsForEvent);
  for (const ship of ships) ship.isDown = true;
  await client.get("b").raise("ship");
  await failed(handle);
  await failed(client.get("a"));
  for (const ship of ships) ship.isDown = false;
  const report = await client.get("b").rewind({ to: "failure", tree: true });
  expect(report).toMatchObject({ id: "b", others: [{ id: "p" }, { id: "a" }] });
  await client.get("a").raise("ship");
  for (const id of ["a", "b"]) await client.get(id).raise("end", id);
  expect(await handle.result()).toEqual(["a", "b"]);
  for (const { keys } of pays) expect(keys).toHaveLength(1);
});

test("a sibling that cannot go on is started again: its code never ran, or its callback is closed", async () => {
  const { ships, deliver, register } = deliveries(["a"]);
  const approval = orchestration("approval", async (ctx) => {
    await ctx.callback("approved", { timeout: 3_600_000 });
  });
  const late = orchestration("late", async () => "late");
  const parent = orchestration("parent", async (ctx) => {
    const calls = [() => ctx.call(deliver, "a"), () => ctx.call(approval), () => ctx.call("late")];
    return ctx.all(calls);
  });
  const store = await freshStore();
  const runtime = {
    ...{ log: () => undefined, shadowReplay: "always" as const },
    callbacks: { secrets: ["a-secret-of-at-least-32-bytes-for-tests"], baseUrl: "http://host" },
  };
  const perdure = await Perdure.open(store, {
    ...{ register: [...register, approval, parent], runtime },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  const { client } = perdure;
  for (const ship of ships) ship.isDown = true;
  const handle = await client.start(parent, undefined, { id: "p" });
  await until(handle, ({ waitingFor }) => waitingFor.length === 3);
  const [first, second, third] = ["p::sub::2", "p::sub::3", "p::sub::4"].map((id) =>
    client.get(id),
  );
  if (first === undefined || second === undefined || third === undefined) throw new Error("three");
  await until(first, waitsForEvent);
  await until(second, ({ waitingFor }) => waitingFor.length > 0);
  await first.raise("ship");
  await failed(handle);
  await failed(second);
  await third.terminate("no worker has its code");
  for (const ship of ships) ship.isDown = false;
  const report = await handle.rewind({ to: "failure", tree: true });
  expect(report.others.map(({ id }) => id)).toEqual([first.id]);
  expect(report.redone.map(({ name }) => name)).toEqual(["approval", "late"]);
  await open(store, [late]);
  const again = client.get("p::sub::2_4");
  await vi.waitFor(() => again.describe()); // the first turn after the rewind starts it
  expect(await again.result()).toBe("late");
});

test("a child whose outcome is replaced is not rewound", async () => {
  const { ships, deliver, register } = deliveries(["a"]);
  const parent = orchestration("parent", async (ctx) => ctx.call(deliver, "a", { id: "a" }));
  const { client } = await open(await freshStore(), [...register, parent]);
  for (const ship of ships) ship.isDown = true;
  const handle = await client.start(parent, undefined, { id: "p" });
  await until(handle, ({ waitingFor }) => waitingFor.length === 1);
  await client.get("a").raise("ship");
  await failed(handle);
  const sequence = (await handle.history()).find(({ kind }) => kind === "ChildFailed")?.sequence;
  const replace = [{ sequence: sequence ?? 0, output: "by hand" }];
  const report = await handle.rewind({ to: "failure", tree: true, replace });
  expect(report.others).toEqual([]);
  expect(await handle.result()).toBe("by hand");
  expect(await client.get("a").describe()).toMatchObject({ status: "failed", execution: 1 });
});

test("rewinds at different points keep one key per call", async () => {
  const [a, b, c] = [service("a"), service("b"), service("c")];
  const chain = orchestration("chain", async (ctx) => [
    await ctx.run(a.definition, 1),
    await ctx.run(b.definition, 2),
    await ctx.run(c.definition, 3),
  ]);
  const { client } = await open(await freshStore(), [
    chain,
    a.definition,
    b.definition,
    c.definition,
  ]);
  c.isDown = true;
  const handle = await client.start(chain, undefined, { id: "c" });
  await failed(handle);
  await handle.rewind({ to: "failure" });
  await failed(handle);
  await handle.rewind({ before: { activity: "b" } });
  await failed(handle);
  await handle.rewind({ to: "failure" });
  await failed(handle);
  c.isDown = false;
  await handle.rewind({ before: { activity: "c" } });
  expect(await handle.result()).toEqual([1, 2, 3]);
  expect(a.keys).toHaveLength(1);
  expect(new Set(b.keys).size).toBe(1);
  // The call of c after b was made again is another call; its key stays the same from then on.
  expect(new Set(c.keys).size).toBeLessThanOrEqual(2);
  expect(new Set([...a.keys, ...b.keys, ...c.keys]).size).toBe(new Set(c.keys).size + 2);
});

test("a failed job goes on, and a rewound instance moves to another store", async () => {
  const pay = service("pay");
  const mail = job("mail", async (to: string, { idempotencyKey }: ActivityContext) => {
    pay.keys.push(idempotencyKey);
    if (pay.isDown) throw new Error("down");
    return to;
  });
  const codec = encryptingCodec({ keys: { k: new Uint8Array(32) }, current: "k" });
  const order = orchestration("order", async (ctx) => {
    const parallel = ctx.run(pay.definition, "parallel");
    await ctx.run("fails", 1);
    return [await parallel, await ctx.waitFor("go")];
  });
  const fails = service("fails");
  const store = await freshStore();
  const register = [mail, order, pay.definition, fails.definition];
  const first = await open(store, register, codec);
  pay.isDown = true;
  const job1 = await first.client.enqueue(mail, "ada");
  await failed(job1);
  pay.isDown = false;
  await job1.rewind({ to: "failure" });
  expect(await job1.result()).toBe("ada");
  expect(new Set(pay.keys).size).toBe(1);
  fails.isDown = true;
  const handle = await first.client.start(order, undefined, { id: "o" });
  await failed(handle);
  await handle.raise("go", 1).catch(() => undefined);
  fails.isDown = false;
  await handle.rewind({ to: "failure" });
  await until(handle, ({ waitingFor }) => waitingFor.some(({ kind }) => kind === "event"));
  const before = await handle.history();
  await first.close({ graceMs: 0 });
  const target = await freshStore();
  await moveStore(store, target);
  onTestFinished(async () => void (await unmarkStore(store)));
  const second = await open(target, register, codec);
  const moved = second.client.get("o");
  expect(await moved.history()).toEqual(before);
  await moved.raise("go", 2);
  expect(await moved.result()).toEqual(["parallel", 2]);
  await moved.rewind({ before: { activity: "fails" } });
  await moved.raise("go", 3).catch(() => undefined);
  expect(await moved.result()).toEqual(["parallel", 2]);
});
