// Registered definitions: duplicates, versions, modules, and work without a registered definition (semantics 14, 22).

import { expect, test } from "vitest";
import { activity, isPerdureError, orchestration, Perdure } from "../../../src/index.ts";
import { freshStore } from "../../support/test-store.ts";
import * as helpers from "../support/modules/helpers.ts";
import * as orders from "../support/modules/orders.ts";
import * as shop from "../support/modules/shop.ts";
import { scenario } from "../support/scenario.ts";
import { DAILY } from "../support/world.ts";

const greet = activity("greet", (name: string) => `Hello, ${name}!`);
const hello = orchestration("hello", (ctx, name: string) => ctx.run(greet, name));
const codeOf = (error: unknown): unknown => (isPerdureError(error) ? error.code : error);

scenario("an instance of an unregistered orchestration waits until a process registers it", {
  register: [greet],
  runtime: DAILY,
  run: async (t) => {
    const handle = await t.client.start(hello, "Ada", { id: "i" });
    await t.advance("7d");
    expect(await handle.describe()).toMatchObject({ status: "pending" });
    await t.boot([greet, hello]);
    expect(await t.result(handle)).toBe("Hello, Ada!");
  },
});

scenario("an unregistered activity waits without failing and without using an attempt", {
  register: [hello],
  runtime: DAILY,
  run: async (t) => {
    const handle = await t.client.start(hello, "Ada", { id: "i" });
    await t.advance("7d");
    expect(await handle.describe()).toMatchObject({
      status: "running",
      waitingFor: [{ kind: "activity", name: "greet", attempt: 1 }],
    });
    await t.boot([greet]);
    expect(await t.result(handle)).toBe("Hello, Ada!");
    const [, , completed] = await t.events(handle);
    expect(completed).toMatchObject({ kind: "ActivityCompleted", attempts: 1 });
  },
});

scenario("unclaimed work does not delay other work", () => {
  const unknown = orchestration("unknown", (ctx) => ctx.run("also unknown"));
  return {
    register: [greet, hello, unknown],
    runtime: { leaseBatch: 2, activityConcurrency: 2, turnConcurrency: 4 },
    run: async (t) => {
      for (let n = 0; n < 20; n++) {
        await t.client.start("unregistered", null, { id: `unclaimed-${n}` });
        await t.client.start(unknown, undefined, { id: `unknown-${n}` });
      }
      const handle = await t.client.start(hello, "Ada", { id: "i" });
      expect(await t.result(handle)).toBe("Hello, Ada!");
      expect(await t.client.get("unclaimed-0").describe()).toMatchObject({ status: "pending" });
    },
  };
});

scenario("an unregistered child waits, and its parent waits for it", {
  register: [orchestration("main", (ctx) => ctx.call(hello, "kid", { id: "kid" }))],
  run: async (t) => {
    const handle = await t.client.start("main", undefined, { id: "p" });
    await t.advance("1d");
    expect(await t.client.get("kid").describe()).toMatchObject({ status: "pending" });
    await t.boot([greet, hello]);
    expect(await t.result(handle)).toBe("Hello, kid!");
  },
});

scenario("each process runs the activities that it registers", (t) => {
  const where: string[] = [];
  const on = (name: string) =>
    activity(name, (_: unknown, { info }) => void where.push(`${name} ${info.worker}`));
  const gpu = on("gpu");
  const cpu = on("cpu");
  const main = orchestration("main", async (ctx) => {
    await ctx.run(gpu);
    await ctx.run(cpu);
    await ctx.run(gpu);
  });
  return {
    register: [main],
    run: async () => {
      const a = await t.boot([gpu]);
      const b = await t.boot([cpu]);
      const handle = await t.client.start("main", undefined, { id: "i" });
      await t.result(handle);
      const [idA, idB] = [a.perdure.runtime.id, b.perdure.runtime.id];
      expect(where).toEqual([`gpu ${idA}`, `cpu ${idB}`, `gpu ${idA}`]);
    },
  };
});

scenario("registered() lists activities, orchestrations and versions", {
  register: [greet, hello, orchestration("hello", async () => "two", { version: "2.0.0" })],
  run: async (t) => {
    expect(t.process.perdure.runtime.registered()).toEqual({
      activities: ["greet"],
      orchestrations: { hello: ["2.0.0", "1.0.0"] },
    });
  },
});

test("duplicate definitions are refused in one error; the same object twice is accepted", async () => {
  const other = activity("greet", () => "other");
  const again = orchestration("hello", async () => "again");
  const opening = Perdure.open(await freshStore(), { register: [greet, hello, other, again] });
  const error = await opening.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(String(error)).toContain('activity "greet"');
  expect(String(error)).toContain('orchestration "hello" 1.0.0');
  await using perdure = await Perdure.open(await freshStore(), {
    register: [greet, greet, hello, hello],
  });
  expect(perdure.runtime.registered().activities).toEqual(["greet"]);
});

test("definitions check their names, versions and options", () => {
  const attempts: (() => unknown)[] = [
    () => activity("", () => 1),
    () => activity("perdure.own", () => 1),
    () => activity("a\nb", () => 1),
    () => activity("a", "no function" as never),
    () => activity("a", () => 1, { timeout: 0 }),
    () => activity("a", () => 1, { priority: 9 }),
    () => activity("a", () => 1, { attempts: 0 }),
    () => activity("a", () => 1, { retry: { backof: {} } as never }),
    () => orchestration("o", async () => 1, { version: "1" }),
    () => orchestration("o", async () => 1, { onNondeterminism: "ignore" as never }),
  ];
  for (const attempt of attempts) {
    expect(attempt, String(attempt)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  }
});

test("an empty registry is accepted; a value that is not a definition is refused", async () => {
  await using perdure = await Perdure.open(await freshStore());
  expect(perdure.runtime.registered()).toEqual({ activities: [], orchestrations: {} });
  const opening = Perdure.open(await freshStore(), { register: [{ kind: "event" } as never] });
  expect(await opening.catch(codeOf)).toBe("INVALID_ARGUMENT");
});

scenario("register accepts modules alongside definitions", {
  register: [shop, orders, greet, hello],
  run: async (t) => {
    expect(t.process.perdure.runtime.registered()).toMatchObject({
      activities: ["charge", "greet"],
      orchestrations: { pay: ["1.0.0"], shop: ["1.0.0"], hello: ["1.0.0"] },
    });
    const handle = await t.client.start(shop.default, 500, { id: "i" });
    expect(await t.result(handle)).toBe("r-500");
    await t.deploy([orders, shop]);
    expect(await t.result(await t.client.start(orders.pay, 7, { id: "j" }))).toBe("r-7");
  },
});

test("a module without a definition is refused, and the error names its exports", async () => {
  const store = await freshStore();
  const opened = Perdure.open(store, { register: [orders, helpers, {}] });
  await expect(opened).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message:
      "Cannot register: register[1] exports no activity and no orchestration: its exports are TAX, withTax; " +
      "register[2] exports no activity and no orchestration: it has no exports.",
  });
});

test("a module that is not initialized yet, because of circular imports, is refused", async () => {
  const store = await freshStore();
  const early = Object.defineProperty({}, "pay", {
    enumerable: true,
    get: () => {
      throw new ReferenceError("Cannot access 'pay' before initialization");
    },
  });
  await expect(Perdure.open(store, { register: [early] })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining('export "pay" of register[0] cannot be read yet') as string,
  });
});

test("two definitions with the same name in two modules are refused", async () => {
  const store = await freshStore();
  const other = { charge: activity("charge", () => 1) };
  await expect(Perdure.open(store, { register: [orders, other] })).rejects.toMatchObject({
    message: 'Cannot register: activity "charge" is defined twice.',
  });
});
