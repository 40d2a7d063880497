// Invalid options are refused by every call before anything is written (work-matching.1, definitions.1, options.1).

import { expect, test } from "vitest";
import { isPerdureError, orchestration, Perdure } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { CALLS, child, COMMANDS, DEFINITIONS, echo, OPENINGS, type Given } from "./calls.ts";

const UNKNOWN_OPTION = { nonsense: 1 } as never;
const NOT_AN_OBJECT = 7 as never;

/** The message of an INVALID_ARGUMENT error. Any other error fails the test. */
async function refusalOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    if (isPerdureError(error, "INVALID_ARGUMENT")) return error.message;
    throw error;
  }
  throw new Error("the call was accepted");
}

async function given<T>(work: (given: Given) => Promise<T>): Promise<T> {
  const provider = await SqliteProvider.open(":memory:");
  await using perdure = await Perdure.open(provider, {
    register: [echo, child],
    runtime: { log: () => undefined },
  });
  const { client } = perdure;
  const handle = await client.start(child, 1, { id: "h" });
  await handle.result();
  const before = await handle.stats();
  const result = await work({ client, handle });
  expect(await handle.stats(), "the instance is unchanged").toEqual(before);
  expect(await client.count()).toBe(1);
  return result;
}

test.each(Object.keys(DEFINITIONS))("%s refuses an unknown option", async (name) => {
  const make = DEFINITIONS[name]!;
  expect(await refusalOf(() => make(UNKNOWN_OPTION))).toContain("nonsense");
  expect(await refusalOf(() => make(NOT_AN_OBJECT))).toMatch(/\bobject\b/);
});

test.each(Object.keys({ ...OPENINGS, ...CALLS }))(
  "%s refuses an unknown option and does nothing",
  async (name) => {
    const call = { ...OPENINGS, ...CALLS }[name]!;
    await given(async (store) => {
      expect(await refusalOf(() => call(UNKNOWN_OPTION, store))).toContain("nonsense");
      expect(await refusalOf(() => call(NOT_AN_OBJECT, store))).toMatch(
        /\bobject\b|a string|an array|a text|a list/,
      );
    });
  },
);

test.each(Object.keys(COMMANDS))(
  "%s refuses an unknown option and records nothing",
  async (name) => {
    const command = COMMANDS[name]!;
    const asks = orchestration("asks", async (ctx, _: string) => [
      await refusalOf(() => command(UNKNOWN_OPTION, ctx)),
      await refusalOf(() => command(NOT_AN_OBJECT, ctx)),
    ]);
    const provider = await SqliteProvider.open(":memory:");
    await using perdure = await Perdure.open(provider, {
      register: [asks, echo, child],
      runtime: { log: () => undefined },
    });
    const handle = await perdure.client.start(asks, "");
    const [unknown, notAnObject] = await handle.result();
    expect(unknown).toContain("nonsense");
    expect(notAnObject).toMatch(/\bobject\b/);
    const events = await handle.history();
    expect(events.map(({ kind }) => kind)).toEqual([
      "OrchestrationStarted",
      "OrchestrationCompleted",
    ]);
  },
);

test("a filter with an invalid status, date or text is refused and does not match more instances", async () => {
  await given(async ({ client }) => {
    for (const filter of [
      { status: "dead" },
      { status: ["completed", 5] },
      { createdAfter: "yesterday" },
      { completedBefore: new Date(NaN) },
      { name: 5 },
      { ids: "h" },
      { attributes: { kind: NaN } },
      { blocked: "yes" },
    ]) {
      const list = () => client.deleteMany(filter as never);
      expect(await refusalOf(list)).toContain(
        Object.keys(filter)[0] === "attributes" ? "kind" : Object.keys(filter)[0],
      );
    }
    expect(await refusalOf(() => client.deleteMany({ all: true }, { limit: 0 }))).toContain(
      "limit",
    );
  });
});

test("an invalid schema, a key that is not a string and an attribute that is a list are refused", async () => {
  const schema = { parse: (value: unknown) => value } as never;
  const definitions = [
    () => DEFINITIONS["activity"]!({ input: schema } as never),
    () => DEFINITIONS["orchestration"]!({ output: schema } as never),
    () => DEFINITIONS["flow"]!({ input: schema } as never),
  ];
  for (const make of definitions) expect(await refusalOf(make)).toContain("Standard Schema");
  await given(async ({ handle }) => {
    expect(await refusalOf(() => handle.kv.get(5 as never))).toContain("key");
  });
  const asks = orchestration("asks", async (ctx, _: string) => [
    await refusalOf(() => ctx.kv.get(5 as never)),
    await refusalOf(() => ctx.setAttributes({ kind: [] } as never)),
    await refusalOf(() => ctx.compensate(5 as never)),
    await refusalOf(() => ctx.scope(5 as never)),
  ]);
  await using perdure = await Perdure.open(await SqliteProvider.open(":memory:"), {
    register: [asks],
    runtime: { log: () => undefined },
  });
  const refusals = await (await perdure.client.start(asks, "")).result();
  const words = ["key", "kind", "ctx.compensate", "ctx.scope"];
  for (const [index, word] of words.entries()) expect(refusals[index]).toContain(word);
});
