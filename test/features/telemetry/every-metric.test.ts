// A program that uses all features must report every metric of docs/telemetry.md.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  activity,
  Client,
  defaultCodec,
  orchestration,
  Perdure,
  request,
  type Codec,
} from "../../../src/index.ts";
import { callbacks } from "../../../src/callback/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import type { Telemetry } from "../../../src/telemetry/index.ts";
import { projectRoot } from "../../support/source-files.ts";
import { faultyProvider } from "../../faults/trouble/wrapped-provider.ts";
import { collecting } from "./support.ts";

const page = readFileSync(join(projectRoot, "docs/telemetry.md"), "utf8");
const NAMES = [...page.matchAll(/^\| `(perdure\.[\w.]+)` /gm)].map(([, name]) => name);

const say = request<undefined, string>("say");

/** A codec that fails to decode the text "unreadable". */
const codec: Codec = {
  ...defaultCodec,
  encode: (value) => defaultCodec.encode(value),
  decode: (text) => {
    if (text === '"unreadable"') throw new Error("cannot be read");
    return defaultCodec.decode(text);
  },
};

test("a program that uses all features reports every metric of docs/telemetry.md", async () => {
  const { telemetry, metrics } = collecting();
  const work = activity("work", async (value: string) => value, { limit: { concurrency: 100 } });
  const child = orchestration("child", (ctx) => ctx.run(work, "fine"));
  const main = orchestration("main", async (ctx, round: number): Promise<string> => {
    if (round === 1) return ctx.continueAsNew(2);
    ctx.stream("notes").write("begun");
    await ctx.call(child);
    await ctx.step("note", () => 1);
    await ctx.run(work, "unreadable").catch(() => undefined);
    for await (const call of ctx.requests(say)) {
      call.answer("yes");
      break;
    }
    throw new Error("over");
  });
  const store = await SqliteProvider.open(":memory:");
  await new Client(store).raise("missing", "go", 1, { ifMissing: "keep", keepFor: "1ms" });
  const { provider } = faultyProvider(store, (method, call) =>
    method === "commit" && call === 3 ? "before" : null,
  );
  await using perdure = await Perdure.open(provider, {
    register: [main, child, work],
    runtime: { telemetry, codec, stickyCacheMax: 0, log: () => undefined },
    callbacks: { secrets: ["a-secret-of-at-least-32-bytes-for-tests"], baseUrl: "http://host" },
  });
  await callbacks(perdure.client).request("/unknown", { method: "POST" });
  const handle = await perdure.client.start(main, 1);
  expect(await handle.ask(say)).toBe("yes");
  await expect(handle.result()).rejects.toThrow("over");
  const found = async (): Promise<string[]> =>
    [
      ...new Set(Object.keys(await metrics()).map((point) => point.replace(/\{.*$/s, ""))),
    ].toSorted();
  expect(NAMES.length).toBeGreaterThan(15);
  await expect.poll(found, { timeout: 10_000 }).toEqual(NAMES.toSorted());
  await perdure.close();
  await store.close();
});

test("the duration of an execution spans all of its turns", async () => {
  const { telemetry } = collecting();
  const ends: { turns: number; ms: number }[] = [];
  let turns = 0;
  const timed: Telemetry = {
    ...telemetry,
    turn: (record) => {
      turns++;
      if (record.events.some(({ kind }) => kind === "OrchestrationCompleted")) {
        ends.push({ turns, ms: record.at - record.startedAt });
      }
    },
  };
  const main = orchestration("main", async (ctx) => {
    for (let nap = 0; nap < 4; nap++) await ctx.sleep(20);
  });
  await using perdure = await Perdure.open("sqlite::memory:", {
    register: [main],
    runtime: { telemetry: timed },
  });
  await (await perdure.client.start(main)).result();
  expect(ends).toEqual([{ turns: 5, ms: expect.any(Number) as number }]);
  expect(ends[0]?.ms).toBeGreaterThanOrEqual(80);
});
