// Results of instances that this process starts and runs: they come from the commit, without a read of the store.

import { expect, onTestFinished, test } from "vitest";
import { activity, Client, event, orchestration, Perdure, type Provider } from "../../src/index.ts";
import { freshStore } from "../support/test-store.ts";

const double = activity("double", (value: number) => value * 2);
const doubled = orchestration("doubled", (ctx, value: number) => ctx.run(double, value));
const broken = orchestration("broken", async (ctx) => {
  await ctx.step("break", () => Promise.reject(new Error("broken")));
});
const go = event<string>("go");
const waiting = orchestration("waiting", (ctx) => ctx.waitFor(go));

interface Count {
  readonly provider: Provider;
  reads: number;
  /** Set: each read of an instance returns this. */
  answer: unknown;
}

/** Counts the reads of instances. */
function counted(provider: Provider): Count {
  const count: Count = {
    reads: 0,
    answer: undefined,
    provider: new Proxy(provider, {
      get: (store, name) => {
        const member: unknown = Reflect.get(store, name, store);
        if (typeof member !== "function") return member;
        return (...given: unknown[]): unknown => {
          if (name === "readInstance") count.reads++;
          if (name === "readInstance" && count.answer !== undefined) return count.answer;
          return Reflect.apply(member, store, given);
        };
      },
    }),
  };
  return count;
}

async function open() {
  const store = await freshStore();
  const count = counted(store);
  const perdure = await Perdure.open(count.provider, {
    register: [doubled, broken, waiting, double],
    runtime: { log: () => undefined },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return { ...perdure, client: perdure.client, count, store };
}

test("a result that is awaited at once needs no read", async () => {
  const { client, count } = await open();
  const handle = await client.start(doubled, 4);
  expect(await handle.result()).toBe(8);
  expect(count.reads).toBe(0);
});

test("the result of an instance that begins after its start comes from the commit too", async () => {
  const { client, count, store } = await open();
  const handle = await client.start(waiting, undefined, { delay: "20ms" });
  count.answer = Promise.resolve(await store.readInstance(handle.id)); // no later read shows its end
  const result = handle.result();
  await handle.raise(go, "on"); // it cannot end before this, so the wait begins before the end
  expect(await result).toBe("on");
});

test("two waiters of one instance get its result without a read", async () => {
  const { client, count } = await open();
  const handle = await client.start(waiting);
  const first = handle.result();
  const second = handle.result(); // only the first wait of a handle can skip its first read
  await handle.raise(go, "on");
  expect(await Promise.all([first, second])).toEqual(["on", "on"]);
  expect(count.reads).toBeLessThanOrEqual(1);
});

test("a failure reaches the waiter with its cause, without a read", async () => {
  const { client, count } = await open();
  const handle = await client.start(broken);
  const error: unknown = await handle.result().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "OrchestrationError", instanceId: handle.id });
  expect(error).toHaveProperty("cause.message", expect.stringContaining("broken"));
  expect(count.reads).toBe(0);
});

test("a result that is awaited after the end is read from the store", async () => {
  const { client, count } = await open();
  const handle = await client.start(doubled, 5);
  await expect.poll(() => client.count({ status: "completed" })).toBe(1);
  expect(await handle.result()).toBe(10);
  expect(count.reads).toBeGreaterThan(0);
});

test("an end that another client writes reaches the waiter", async () => {
  const { client, store } = await open();
  const handle = await client.start(waiting);
  const result = handle.result().catch((thrown: unknown) => thrown);
  await new Client(store).get(handle.id).terminate("no longer needed");
  expect(await result).toMatchObject({ name: "OrchestrationError", kind: "terminated" });
});

test("a restart by another client between the start and the wait is followed", async () => {
  const { client, store } = await open();
  const handle = await client.start(waiting, undefined, { id: "again" });
  const other = new Client(store).get(handle.id);
  await other.terminate("first");
  await other.restart();
  const result = handle.result();
  await handle.raise(go, "second");
  expect(await result).toBe("second");
});
