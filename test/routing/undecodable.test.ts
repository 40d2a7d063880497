// A task whose row cannot be read back stops nobody and ends as poison (semantics 6); one whose key is missing waits.

import { expect, test } from "vitest";
import { activity, defaultCodec, orchestration, Perdure, PerdureError } from "../../src/index.ts";
import { scenario } from "../scenarios/support/scenario.ts";
import { freshStore } from "../support/test-store.ts";

test("a task that cannot be decoded ends as ActivityError of kind poison, and is not entered", async () => {
  const provider = await freshStore();
  const lease = provider.leaseTasks.bind(provider);
  provider.leaseTasks = async (request) => {
    const leased = await lease(request);
    return { ...leased, tasks: leased.tasks.map((task) => ({ ...task, undecodable: true })) };
  };
  let entered = 0;
  const work = activity("work", async () => ++entered);
  // A session's task passes through the queue, where it is read back.
  const one = orchestration("one", async (ctx) => {
    try {
      return await ctx.run(work, undefined, { session: "s" });
    } catch (error) {
      return (error as { kind: string }).kind;
    }
  });
  const perdure = await Perdure.open(provider, {
    register: [one, work],
    runtime: { log: () => undefined },
  });
  expect(await (await perdure.client.start(one)).result({ timeout: "10s" })).toBe("poison");
  expect(entered).toBe(0);
  await perdure.close();
});

scenario(
  "an input whose key is missing is tried again every 30 s, takes no slot and costs no attempt",
  (t) => {
    let hasKey = false;
    const codec = {
      encode: (value: unknown) => defaultCodec.encode(value),
      decode(text: string): unknown {
        if (text !== '"locked"' || hasKey) return defaultCodec.decode(text);
        throw new PerdureError("KEY_MISSING", "the key is not here");
      },
    };
    const work = activity("work", async (input: string, { attempt }) => `${input} ${attempt}`, {
      retry: { maxAttempts: 1 },
      timeout: "10s",
    });
    const main = orchestration("main", (ctx, input: string[]) =>
      ctx.all(input.map((each) => ctx.run(work, each))),
    );
    return {
      register: [work, main],
      runtime: { codec, activityConcurrency: 1 },
      run: async () => {
        await t.client.start(main, ["locked", "open"], { id: "i" });
        await t.advance("1s");
        const waits = async () => (await t.client.get("i").describe()).waitingFor;
        expect(await waits()).toMatchObject([{ kind: "activity", attempt: 1 }]); // the other one is done
        await t.advance("5m");
        expect(await waits()).toMatchObject([{ kind: "activity", attempt: 1 }]);
        hasKey = true;
        await t.advance("31s");
        expect(await t.result(t.client.get("i"))).toEqual(["locked 1", "open 1"]);
      },
    };
  },
);
