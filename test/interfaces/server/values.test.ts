// Users' values over HTTP: a value is read as it was written.

import fc from "fast-check";
import * as v from "valibot";
import { expect, test } from "vitest";
import { activity, Client, defaultCodec, orchestration, type Codec } from "../../../src/index.ts";
import { summary } from "../../../src/server/schemas/instance.ts";
import { fromHttp, givenValue, payloadToHttp, toHttp } from "../../../src/server/views/values.ts";
import { summaryToHttp } from "../../../src/server/wire/instance.ts";
import { echo, openScene } from "./support.ts";

const EXOTIC: readonly unknown[] = [
  undefined,
  null,
  0,
  -0,
  NaN,
  -Infinity,
  12n,
  "~",
  "$perdure",
  new Date(0),
  new Date(NaN),
  new Map<unknown, unknown>([["a", new Set([1n, undefined])]]),
  new Uint8Array([1, 2, 3]),
  new URL("https://example.com/?q=1"),
  /a+/giu,
  [undefined, ["~d", 0], ["~"]],
  { a: undefined, b: { c: new Date(5) } },
  { $perdure: 1 },
  { $perdure: ["~d", 0] },
  { $perdureCut: { chars: 5 } },
  { $perdureUnreadable: "x", other: 1 },
  { $perdureOther: ["~tag"] },
  { nested: { $perdure: ["~u"] } },
  JSON.parse('{"__proto__":{"a":1}}'),
];

test("plain JSON is sent as it is, undefined as an absent value, all else under a marker", () => {
  expect(toHttp({ a: [1, "x", null] })).toEqual({ a: [1, "x", null] });
  expect(toHttp(undefined)).toBeUndefined();
  expect(toHttp(new Date(5))).toEqual({ $perdure: ["~d", 5] });
  expect(toHttp({ at: new Date(5) })).toEqual({ $perdure: { at: ["~d", 5] } });
  expect(toHttp({ $perdure: 1 })).toEqual({ $perdure: { $perdure: 1 } });
});

test.each(EXOTIC.map((value, index) => [index, value]))(
  "value %i survives a round trip",
  (_n, value) => {
    const text = JSON.stringify(toHttp(value));
    const json: unknown = text === undefined ? undefined : JSON.parse(text);
    expect(fromHttp(json)).toStrictEqual(value);
    expect(givenValue(json)).toStrictEqual(value);
  },
);

test("any value that the codec accepts survives a round trip", () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    key: fc.oneof(fc.string(), fc.constantFrom("$perdure", "$perdureCut", "__proto__", "~")),
  });
  fc.assert(
    fc.property(anything, (value) => {
      let text: string;
      try {
        text = defaultCodec.encode(value);
      } catch {
        return; // the codec refuses this value
      }
      const sent = JSON.stringify(toHttp(value));
      const json: unknown = sent === undefined ? undefined : JSON.parse(sent);
      expect(defaultCodec.encode(givenValue(json))).toBe(text);
    }),
    { seed, numRuns: 500 },
  );
});

test("exotic values survive a round trip through the server", async () => {
  const { as, call } = await openScene();
  const client = as("operator");
  for (const [index, value] of EXOTIC.entries()) {
    const handle = await client.start(echo, value, { id: `e-${index}` });
    expect(await handle.result()).toStrictEqual(value);
    expect((await handle.describe()).output).toStrictEqual(value);
    expect((await handle.event(1)).input).toStrictEqual(value);
  }
  const raw = await call("viewer", "GET", "/instances/e-9/result");
  expect(await raw.json()).toEqual({ ended: true, output: { $perdure: ["~d", 0] } });
});

test("a value that is too long or unreadable becomes a marker that cannot be sent back", () => {
  const cut = toHttp("x".repeat(100), { charsMax: 50 });
  expect(cut).toEqual({ $perdureCut: { chars: 102 } });
  expect(fromHttp(cut)).toEqual(cut);
  const codec: Codec = {
    encode: defaultCodec.encode,
    decode: () => {
      throw new Error("the key is missing");
    },
  };
  const unreadable = payloadToHttp("1", codec);
  expect(unreadable).toEqual({ $perdureUnreadable: "the key is missing" });
  for (const marker of [cut, unreadable]) {
    expect(() => givenValue(marker)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  }
  expect(payloadToHttp("broken", defaultCodec)).toHaveProperty("$perdureUnreadable");
});

test("a list decodes no output", async () => {
  const { as, perdure } = await openScene();
  await (await perdure.client.start(echo, "secret", { id: "one" })).result();
  const codec: Codec = {
    encode: defaultCodec.encode,
    decode: () => {
      throw new Error("an output was read");
    },
  };
  const listed = await new Client(perdure.provider, { codec }).list();
  expect(listed.items).toMatchObject([{ id: "one", status: "completed" }]);
  expect(listed.items[0]).not.toHaveProperty("unreadable");
  expect(await as("viewer").get("one").describe()).toMatchObject({ output: "secret" });
});

test("a list shows the size of a text that is too long for it", () => {
  const listed = summaryToHttp({
    id: "one",
    name: "work",
    version: "1.0.0",
    status: "terminated",
    execution: 1,
    customStatusVersion: 1,
    attributes: {},
    priority: 3,
    createdAt: new Date(0),
    updatedAt: new Date(0),
    leftOut: { customStatus: 20_000, error: 30_000, attributes: 40_000 },
  });
  expect(v.parse(summary, listed)).toMatchObject({
    customStatus: { $perdureCut: { chars: 20_000 } },
    error: { kind: "terminated", message: expect.stringContaining("30000 bytes") as string },
    attributesLeftOut: 40_000,
  });
});

test("a list has no outputs and shortens errors", async () => {
  const { as, perdure } = await openScene();
  await (await perdure.client.start(echo, "x".repeat(10_000), { id: "long" })).result();
  await (
    await perdure.client.start("failing", undefined, { id: "failed" })
  )
    .result()
    .catch(() => undefined);
  const { items } = await as("viewer").list({}, { order: "oldest" });
  expect(items[0]).not.toHaveProperty("output");
  expect(items[1]?.error).toEqual({ kind: "failed", name: "Error", message: "it went wrong" });
});

test("a start and a job over HTTP carry a context, and describe shows it", async () => {
  const told = orchestration("told", async (ctx) => ctx.context);
  const tell = activity("tell", (_: unknown, ctx) => ctx.context);
  const { as, call } = await openScene({}, [told, tell]);
  const client = as("operator");
  const context = { tenant: "acme", since: new Date(5) };
  const handle = await client.start(told, undefined, { id: "t", context });
  expect(await handle.result()).toEqual(context);
  expect(await handle.describe()).toMatchObject({ context });
  const job = await client.enqueue(tell, undefined, { context });
  expect(await job.result()).toEqual(context);
  for (const [wrong, status, code] of [
    [[1], 400, "INVALID_ARGUMENT"],
    ["acme", 400, "INVALID_ARGUMENT"],
    [null, 400, "INVALID_ARGUMENT"],
    [{ $perdure: ["~no such tag"] }, 400, "INVALID_ARGUMENT"],
    [{ text: "x".repeat(5_000) }, 413, "LIMIT_EXCEEDED"],
  ] as const) {
    for (const [path, body] of [
      ["/instances", { name: "told" }],
      ["/queues/tell/jobs", {}],
    ] as const) {
      const answer = await call("operator", "POST", path, { body: { ...body, context: wrong } });
      expect([answer.status, await answer.json()]).toMatchObject([status, { code }]);
    }
  }
});
