// The second start of an id: every policy, alone and under races, from one process and from two (semantics 1).

import { describe, expect, test } from "vitest";
import { orchestration, type Handle, type StartOptions } from "../../../src/index.ts";
import { fileStore, refusalOf, startRuntime, virtualStore, virtualWorld } from "./support.ts";

const RACERS = 100;
/** Returns its input after an event, so that it is still running during a race. */
const waiting = orchestration("waiting", async (ctx, n: number) => [n, await ctx.waitFor("go")]);
const quick = orchestration("quick", async (_, n: number) => n);

type Options = StartOptions & { readonly onConflict?: StartOptions["onConflict"] };

describe("100 starts of one id at the same time", () => {
  test.each(["one store", "two stores on one file"] as const)(
    "have one winner, and the others get INSTANCE_EXISTS (%s)",
    async (where) => {
      const { starts, look } = await racers(where, { onConflict: "fail" });
      const won = starts.filter(({ status }) => status === "fulfilled");
      expect(won).toHaveLength(1);
      for (const lost of starts) {
        if (lost.status === "fulfilled") continue;
        expect(lost.reason).toMatchObject({
          code: "INSTANCE_EXISTS",
          message: 'Instance "one" already exists; choose another id or an onConflict policy.',
        });
      }
      expect(await look.executions()).toHaveLength(1);
      await look.raise("go", "went");
      expect(await look.result()).toEqual([starts.indexOf(won[0] ?? never()), "went"]);
    },
  );

  test.each(["one store", "two stores on one file"] as const)(
    "with useExisting all get the same instance (%s)",
    async (where) => {
      const { starts, look } = await racers(where, { onConflict: "useExisting" });
      expect(starts.map(({ status }) => status)).toEqual(starts.map(() => "fulfilled"));
      await look.raise("go", "went");
      const results = await Promise.all(
        starts.map((start) => (start.status === "fulfilled" ? start.value.result() : never())),
      );
      expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
      expect(await look.executions()).toHaveLength(1);
    },
  );

  test.each(["one store", "two stores on one file"] as const)(
    "with restart of an ended instance begin one further execution (%s)",
    async (where) => {
      const { starts, look } = await racers(where, { onConflict: "restart" }, async (handle) => {
        await handle.raise("go", "before");
        await handle.result();
      });
      const won = starts.filter(({ status }) => status === "fulfilled");
      expect(won).toHaveLength(1);
      for (const lost of starts) {
        if (lost.status === "fulfilled") continue;
        expect(lost.reason).toMatchObject({
          code: "INSTANCE_RUNNING",
          message: 'Instance "one" is still running; only an ended instance can be restarted.',
        });
      }
      expect(await look.executions()).toHaveLength(2);
      // The earlier execution stays readable.
      expect(await look.result({ execution: 1 })).toEqual([-1, "before"]);
    },
  );

  test.each(["one store", "two stores on one file"] as const)(
    "with terminateExisting each ends the previous instance, and the last one lives (%s)",
    async (where) => {
      const { starts, look } = await racers(where, { onConflict: "terminateExisting" });
      expect(starts.map(({ status }) => status)).toEqual(starts.map(() => "fulfilled"));
      const executions = await look.executions();
      expect(executions).toHaveLength(RACERS);
      expect(executions.slice(0, -1).every(({ status }) => status === "terminated")).toBe(true);
      await look.raise("go", "went");
      const [n, went] = (await look.result()) as [number, string];
      expect(went).toBe("went");
      expect(n).toBeGreaterThanOrEqual(0);
    },
  );

  test.each(["one store", "two stores on one file"] as const)(
    "with one request id are one start, and all succeed (%s)",
    async (where) => {
      const { starts, look } = await racers(where, { onConflict: "fail", requestId: "r" });
      expect(starts.map(({ status }) => status)).toEqual(starts.map(() => "fulfilled"));
      expect(await look.executions()).toHaveLength(1);
    },
  );
});

describe("a second start", () => {
  test("with fail is refused even when the first has ended, and changes nothing", async () => {
    const { client } = await virtualWorld([quick]);
    const first = await client.start(quick, 1, { id: "a" });
    await first.result();
    const before = await first.describe();
    expect((await refusalOf(client.start(quick, 2, { id: "a" }))).code).toBe("INSTANCE_EXISTS");
    expect(await first.describe()).toEqual(before);
    expect(await first.result()).toBe(1);
  });

  test("with useExisting of an ended instance returns its result", async () => {
    const { client } = await virtualWorld([quick]);
    await (await client.start(quick, 1, { id: "a" })).result();
    const again = await client.start(quick, 2, { id: "a", onConflict: "useExisting" });
    expect(await again.result()).toBe(1);
  });

  test("with restart of a running instance is refused, and the instance continues", async () => {
    const { client } = await virtualWorld([waiting]);
    const handle = await client.start(waiting, 1, { id: "a" });
    const error = await refusalOf(client.start(waiting, 2, { id: "a", onConflict: "restart" }));
    expect(error.code).toBe("INSTANCE_RUNNING");
    await handle.raise("go", "on");
    expect(await handle.result()).toEqual([1, "on"]);
  });

  test("with terminateExisting empties the mailbox of the previous execution", async () => {
    const { client, environment } = await virtualWorld([waiting]);
    const old = await client.start(waiting, 1, { id: "a", delay: "1h" });
    await old.raise("go", "for the old one");
    const handle = await client.start(waiting, 2, { id: "a", onConflict: "terminateExisting" });
    await environment.advance(7_200_000);
    expect((await handle.describe()).waitingFor).toMatchObject([{ kind: "event", name: "go" }]);
    await handle.raise("go", "for the new one");
    expect(await handle.result()).toEqual([2, "for the new one"]);
    await expect(old.result({ execution: 1 })).rejects.toMatchObject({ code: "TERMINATED" });
  });
});

describe("a repeated request id", () => {
  test("returns the first outcome, even after the instance has ended", async () => {
    const { client } = await virtualWorld([quick]);
    const start = () => client.start(quick, 1, { id: "a", requestId: "r" });
    expect(await (await start()).result()).toBe(1);
    expect(await (await start()).result()).toBe(1);
    expect(await (await start()).executions()).toHaveLength(1);
  });

  test("of a restart restarts once", async () => {
    const { client } = await virtualWorld([quick]);
    await (await client.start(quick, 1, { id: "a" })).result();
    const restart = () =>
      client.start(quick, 2, { id: "a", onConflict: "restart", requestId: "r" });
    await (await restart()).result();
    await (await restart()).result();
    expect(await (await restart()).executions()).toHaveLength(2);
  });

  test("without an id determines the instance id, so that the repeated call finds the first instance", async () => {
    const { client } = await virtualWorld([quick, waiting]);
    const first = await client.start(quick, 1, { requestId: "order 7" });
    const again = await client.start(quick, 2, { requestId: "order 7" });
    expect(again.id).toBe(first.id);
    expect(await again.result()).toBe(1);
    const other = await client.start(waiting, 2, { requestId: "order 7" });
    expect(other.id).not.toBe(first.id);
  });

  test("of an event delivers it once, however often and concurrently it is raised", async () => {
    const listening = orchestration("listening", async (ctx) => [
      await ctx.waitFor("e"),
      await ctx.waitFor("e"),
    ]);
    const { client } = await virtualWorld([listening]);
    const handle = await client.start(listening, undefined, { id: "a" });
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => handle.raise("e", n, { requestId: "only once" })),
    );
    await handle.raise("e", "another");
    expect(await handle.result()).toEqual([0, "another"]);
    // The first call's outcome holds after the end too.
    await handle.raise("e", 0, { requestId: "only once" });
  });

  test("of another instance or another kind of call is a different request", async () => {
    const { client } = await virtualStore();
    const one = await client.start(waiting, 1, { id: "one", requestId: "r" });
    const two = await client.start(waiting, 2, { id: "two", requestId: "r" });
    await one.raise("go", 1, { requestId: "r" });
    await two.raise("go", 2, { requestId: "r" });
    expect([(await one.describe()).status, (await two.describe()).status]).toEqual([
      "pending",
      "pending",
    ]);
  });
});

/** Starts "one" from all clients at once. `before` prepares an instance for the race to find. */
async function racers(
  where: "one store" | "two stores on one file",
  options: Options,
  before?: (handle: Handle<unknown>) => Promise<void>,
) {
  const first = await fileStore();
  const second = where === "one store" ? first : await fileStore(first.path);
  await startRuntime(first.provider, [waiting]);
  if (second !== first) await startRuntime(second.provider, [waiting]);
  if (before !== undefined) await before(await first.client.start(waiting, -1, { id: "one" }));
  const starts = await Promise.allSettled(
    Array.from({ length: RACERS }, (_, n) =>
      (n % 2 === 0 ? first : second).client.start(waiting, n, { id: "one", ...options }),
    ),
  );
  const look = first.client.get(waiting, "one");
  return { starts, look };
}

function never(): never {
  throw new Error("a start that had to succeed failed");
}
