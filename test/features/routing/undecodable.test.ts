// A task that cannot be decoded fails as poison and blocks no other task (semantics 6); a task with a missing key waits.

import { expect, test } from "vitest";
import {
  activity,
  defaultCodec,
  orchestration,
  Perdure,
  PerdureError,
} from "../../../src/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";
import { freshStore } from "../../support/test-store.ts";

test("a task that cannot be decoded fails with an ActivityError of kind poison and is not entered", async () => {
  const provider = await freshStore();
  const lease = provider.leaseTasks.bind(provider);
  provider.leaseTasks = async (request) => {
    const leased = await lease(request);
    return { ...leased, tasks: leased.tasks.map((task) => ({ ...task, undecodable: true })) };
  };
  let entered = 0;
  const work = activity("work", async () => ++entered);
  // The task of a session passes through the queue, where it is decoded.
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
  "an input with a missing key is retried every 30 s without using a slot or an attempt",
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
        expect(await waits()).toMatchObject([{ kind: "activity", attempt: 1 }]); // the other activity is done
        await t.advance("5m");
        expect(await waits()).toMatchObject([{ kind: "activity", attempt: 1 }]);
        hasKey = true;
        await t.advance("31s");
        expect(await t.result(t.client.get("i"))).toEqual(["locked 1", "open 1"]);
      },
    };
  },
);
