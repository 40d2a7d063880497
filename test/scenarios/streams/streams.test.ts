// Streams: what orchestrations and activities write, and what readers receive.

import { expect } from "vitest";
import { activity, orchestration, type Handle } from "../../../src/index.ts";
import { stream, type StreamEntry } from "../../../src/client/streams/index.ts";
import { scenario } from "../support/scenario.ts";

const tokens = stream<string>("tokens");

/** All entries of a stream that is over. */
async function readAll(
  handle: Handle,
  options: { readonly from?: number; readonly settled?: boolean } = {},
): Promise<readonly StreamEntry<string>[]> {
  return Array.fromAsync(handle.stream(tokens, options));
}

scenario("each value that an orchestration writes is in its stream once, in every mode", () => {
  const echo = activity("echo", async (value: string) => value);
  const main = orchestration("main", async (ctx) => {
    const out = ctx.stream(tokens);
    out.write("a");
    out.write("b");
    out.write(await ctx.run(echo, "c"));
    await ctx.sleep("1h");
    out.write("d");
  });
  return {
    register: [main, echo],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1h");
      await t.result(handle);
      expect(await readAll(handle)).toEqual([
        { kind: "item", offset: 0, call: 0, value: "a" },
        { kind: "item", offset: 1, call: 0, value: "b" },
        { kind: "item", offset: 2, call: 0, value: "c" },
        { kind: "item", offset: 3, call: 0, value: "d" },
        { kind: "end" },
      ]);
    },
  };
});

scenario("a reader receives what an activity writes while it runs", (t) => {
  const gate = t.gate<undefined, undefined>("gate");
  const think = activity("think", async (words: readonly string[], { stream: open }) => {
    await using out = open(tokens);
    for (const word of words) await out.write(word);
  });
  const main = orchestration("main", async (ctx) => {
    await ctx.run(think, ["a", "b"]);
    await ctx.run(gate.activity);
  });
  return {
    register: [main, think, gate.activity],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const entries = handle.stream(tokens);
      const first = await t.during(entries.next());
      expect(first.value).toEqual({ kind: "item", offset: 0, call: 2, value: "a" });
      expect((await entries.next()).value).toMatchObject({ offset: 1, value: "b" });
      const end = entries.next();
      await gate.finish(undefined, undefined);
      expect((await t.during(end)).value).toEqual({ kind: "end" });
      expect(await entries.next()).toEqual({ done: true, value: undefined });
    },
  };
});
