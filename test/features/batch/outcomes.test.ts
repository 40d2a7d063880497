// The outcome of each item: results, failures and retries.

import { expect, test } from "vitest";
import { batchJob, type BatchOutcome, type BatchOptions } from "../../../src/batch/index.ts";
import { NonRetryableError, RetryAfterError } from "../../../src/index.ts";
import { digits, digitsLater, refusal, schemaOf } from "../../support/schemas.ts";
import { Batches, callerOf, docs, kitWith, type Doc } from "./support.ts";

type Return = readonly BatchOutcome<unknown>[] | undefined;

const RULE = { max: 3, wait: "1s" } as const;

/** Runs the items through a job whose handler calls `answer` with the ids of each batch. */
async function run(
  ids: readonly number[],
  answer: (ids: readonly number[], batch: number) => Return,
  options: BatchOptions<Doc> = RULE,
) {
  const batches = new Batches();
  const job = batchJob<Doc, unknown>(
    "index",
    async (items, ctx) => {
      batches.add(items, ctx);
      return answer(batches.ids.at(-1) ?? [], batches.ids.length);
    },
    options,
  );
  const caller = callerOf(job);
  const kit = await kitWith([job, caller]);
  const handle = await kit.start(caller, docs(...ids));
  return { seen: await handle.result(), batches: batches.ids, contexts: batches.contexts, kit };
}

test("a handler that returns nothing completes all items", async () => {
  const { seen } = await run([1, 2, 3], () => undefined);
  expect(seen).toEqual([{ value: undefined }, { value: undefined }, { value: undefined }]);
});

test("each item gets its own outcome", async () => {
  const { seen } = await run([1, 2, 3], () => [
    { ok: "one" },
    { error: new Error("no two") },
    { ok: undefined },
  ]);
  expect(seen).toEqual([
    { value: "one" },
    { failed: expect.stringContaining("no two") },
    { value: undefined },
  ]);
});

test("an error may be any value, also undefined", async () => {
  const { seen } = await run([1, 2], () => [{ error: undefined }, { error: "a text" }]);
  expect(seen).toEqual([
    { failed: expect.any(String) },
    { failed: expect.stringContaining("a text") },
  ]);
});

test("only the failed items are retried, together with the new items of a later batch", async () => {
  const { seen, batches, contexts } = await run(
    [1, 2, 3, 4],
    (ids, batch) =>
      ids.map((id) => (id % 2 === 0 && batch < 3 ? { error: new Error("later") } : { ok: id })),
    { ...RULE, attempts: 3 },
  );
  expect(seen).toEqual([1, 2, 3, 4].map((value) => ({ value })));
  expect(batches.map((ids) => ids.toSorted())).toEqual([
    [1, 2, 3],
    [2, 4],
    [2, 4],
  ]);
  const attempts = contexts.map(({ items }) => items.map(({ attempt }) => attempt).toSorted());
  expect(attempts).toEqual([
    [1, 1, 1],
    [1, 2],
    [2, 3],
  ]);
});

test("an item fails for good after its last attempt", async () => {
  const { seen, batches } = await run([1], () => [{ error: new Error("never") }], {
    ...RULE,
    attempts: 2,
  });
  expect(seen).toEqual([{ failed: expect.stringContaining("never") }]);
  expect(batches).toEqual([[1], [1]]);
});

test("a non-retryable error of one item fails that item at once", async () => {
  const { seen, batches } = await run(
    [1, 2, 3],
    (ids, batch) =>
      batch > 1
        ? undefined
        : ids.map((id) =>
            id === 1 ? { error: new NonRetryableError("gone") } : { error: new Error("later") },
          ),
    { ...RULE, attempts: 2 },
  );
  expect(seen).toEqual([
    { failed: expect.stringContaining("gone") },
    { value: undefined },
    { value: undefined },
  ]);
  expect(batches).toEqual([
    [1, 2, 3],
    [2, 3],
  ]);
});

test("the delay of a RetryAfterError counts for its item", async () => {
  const { seen, kit } = await run(
    [1],
    (_, batch) => (batch === 1 ? [{ error: new RetryAfterError("1h") }] : undefined),
    { ...RULE, attempts: 2 },
  );
  expect(seen).toEqual([{ value: undefined }]);
  const [first, second] = kit.calls("index");
  expect((second?.at.getTime() ?? 0) - (first?.at.getTime() ?? 0)).toBe(3_601_000);
});

test("a throw fails all items, and uses an attempt of each", async () => {
  const { seen, contexts } = await run(
    [1, 2],
    (_, batch) => {
      if (batch === 1) throw new Error("the index is down");
      return undefined;
    },
    { ...RULE, attempts: 2 },
  );
  expect(seen).toEqual([{ value: undefined }, { value: undefined }]);
  expect(contexts.map(({ items }) => items.map(({ attempt }) => attempt))).toEqual([
    [1, 1],
    [2, 2],
  ]);
});

test("a non-retryable throw fails all items at once", async () => {
  const { seen, batches } = await run(
    [1, 2],
    () => {
      throw new NonRetryableError("the index is deleted");
    },
    { ...RULE, attempts: 5 },
  );
  expect(batches).toHaveLength(1);
  expect(seen).toEqual([1, 2].map(() => ({ failed: expect.stringContaining("is deleted") })));
});

test.each([
  ["too few outcomes", [{ ok: 1 }], "got 1 outcomes for 2 items"],
  ["too many outcomes", [{ ok: 1 }, { ok: 2 }, { ok: 3 }], "got 3 outcomes for 2 items"],
  ["no list", { ok: 1 }, "got (an object)"],
  ["null", null, "got null"],
  ["a list of values", [1, 2], "got 1 at index 0"],
  ["a hole", [{ ok: 1 }, undefined], "got undefined at index 1"],
  ["neither ok nor error", [{ ok: 1 }, {}], "at index 1"],
  ["both ok and error", [{ ok: 1, error: undefined }, { ok: 2 }], "at index 0"],
])(
  "a handler that returns %s fails all items, and uses an attempt of each",
  async (_, wrong, why) => {
    const { seen, batches } = await run([1, 2], () => wrong as Return, { ...RULE, attempts: 2 });
    expect(batches).toEqual([
      [1, 2],
      [1, 2],
    ]);
    for (const { failed } of seen) {
      expect(failed).toContain('The handler of batch job "index" must return nothing, or a list');
      expect(failed).toContain(why);
    }
  },
);

test("a result that cannot be stored fails its item only", async () => {
  const { seen, batches } = await run([1, 2], () => [{ ok: () => 1 }, { ok: 2 }], {
    ...RULE,
    attempts: 3,
  });
  expect(seen).toEqual([{ failed: expect.any(String) }, { value: 2 }]);
  expect(batches).toHaveLength(1);
});

test("a key that is not a text fails its item at once, and no other", async () => {
  const { seen, batches } = await run([1, 2, 3], () => undefined, {
    ...RULE,
    attempts: 3,
    key: ({ id }) => (id === 2 ? (id as unknown as string) : "all"),
  });
  expect(seen).toEqual([
    { value: undefined },
    { failed: expect.stringContaining('key of batch job "index" must return a text; got 2.') },
    { value: undefined },
  ]);
  expect(batches).toEqual([[1, 3]]);
});

test("a key function that throws fails an attempt of its item", async () => {
  let calls = 0;
  const { seen, batches } = await run([1, 2], () => undefined, {
    ...RULE,
    attempts: 2,
    key: ({ id }) => {
      if (id === 1 && ++calls === 1) throw new Error("no tenant");
      return "all";
    },
  });
  expect(seen).toEqual([{ value: undefined }, { value: undefined }]);
  expect(batches.flat().toSorted()).toEqual([1, 2]);
});

test.each([
  ["a synchronous", digits],
  ["an asynchronous", digitsLater],
])("%s input schema checks and converts each item", async (_, input) => {
  const batches: (readonly number[])[] = [];
  const job = batchJob(
    "numbers",
    (items) => {
      batches.push(items);
      return items.map((item) => ({ ok: item + 1 }));
    },
    { max: 2, wait: "1s", attempts: 3, input, key: (item) => (item < 10 ? "small" : "large") },
  );
  const caller = callerOf(job);
  const kit = await kitWith([job, caller]);
  const handle = await kit.start(caller, ["1", "20", "three", "4"]);
  expect(await handle.result()).toEqual([
    { value: 2 },
    { value: 21 },
    { failed: expect.stringContaining("must be digits") },
    { value: 5 },
  ]);
  expect(batches).toEqual([[1, 4], [20]]);
});

test("an output schema checks each result", async () => {
  const { seen } = await run([1, 2], (ids) => ids.map((id) => ({ ok: id })), {
    ...RULE,
    output: schemaOf((value) => (value === 1 ? { value: "one" } : refusal("must be 1"))),
  });
  expect(seen).toEqual([{ value: "one" }, { failed: expect.stringContaining("must be 1") }]);
});
