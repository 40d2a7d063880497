// Batch jobs: the types of an item and of its result are inferred from the handler.

import {
  orchestration,
  type Activity,
  type Client,
  type Handle,
  type Logger,
  type StandardSchema,
} from "perdure";
import { batchJob, type BatchContext, type BatchOptions, type BatchOutcome } from "perdure/batch";
import { expectTypeOf } from "../../support/expect-type.ts";

interface Doc {
  readonly id: number;
  readonly tenant: string;
}
declare const digits: StandardSchema<string, number>;

// A handler that returns nothing: every result is undefined.
const index = batchJob("index", async (docs: Doc[]) => console.log(docs), { max: 5, wait: "1s" });
expectTypeOf(index).is<Activity<Doc, void, "index">>();
const sync = batchJob("sync", (docs: Doc[]) => console.log(docs), { max: 5, wait: 0 });
expectTypeOf(sync).is<Activity<Doc, void, "sync">>();

// A handler that returns outcomes: the type of `ok` is the type of a result.
const count = batchJob("count", (docs: Doc[]) => docs.map(({ id }) => ({ ok: id })), {
  max: 5,
  wait: "1s",
});
expectTypeOf(count).is<Activity<Doc, number, "count">>();
const some = batchJob(
  "some",
  async (docs: Doc[]) =>
    docs.map(({ id }) => (id > 5 ? { ok: `${id}` } : { error: new Error("small") })),
  { max: 5, wait: "1s", key: ({ tenant }) => tenant },
);
expectTypeOf(some).is<Activity<Doc, string, "some">>();
const typed = batchJob<Doc, string>(
  "typed",
  (docs, ctx) => {
    expectTypeOf(docs).is<Doc[]>();
    expectTypeOf(ctx).is<BatchContext>();
    expectTypeOf(ctx.log).is<Logger>();
    expectTypeOf(ctx.items[0]?.attempt).is<number | undefined>();
    return docs.map((): BatchOutcome<string> => ({ ok: "fine" }));
  },
  { max: 5, wait: "1s" },
);
expectTypeOf(typed).is<Activity<Doc, string>>();

// With a schema, the handler and the key receive its output.
const checked = batchJob(
  "checked",
  (numbers) => {
    expectTypeOf(numbers).is<number[]>();
    return numbers.map((each) => ({ ok: each > 5 }));
  },
  { max: 5, wait: "1s", input: digits, key: (each) => each.toFixed() },
);
expectTypeOf(checked).is<Activity<string, boolean, "checked">>();

// A batch job is called like an activity.
orchestration("caller", async (ctx) => {
  expectTypeOf(await ctx.run(some, { id: 1, tenant: "a" })).is<string>();
  expectTypeOf(await ctx.run(checked, "7")).is<boolean>();
  // @ts-expect-error one item, not a list
  ctx.run(some, [{ id: 1, tenant: "a" }]);
});

// Each item is enqueued by itself.
declare const client: Client;
expectTypeOf(await client.enqueue(some, { id: 1, tenant: "a" })).is<Handle<string>>();
// @ts-expect-error one item, not a list
await client.enqueue(some, [{ id: 1, tenant: "a" }]);

// Options can have a name.
const options: BatchOptions<Doc> = { max: 5, wait: "1s", attempts: 3, limit: { concurrency: 50 } };
batchJob("named", async (docs: Doc[]) => console.log(docs), options);

// @ts-expect-error no wait
batchJob("a", async (docs: Doc[]) => console.log(docs), { max: 5 });
// @ts-expect-error no options
batchJob("b", async (docs: Doc[]) => console.log(docs));
// @ts-expect-error an unknown option
batchJob("c", async (docs: Doc[]) => console.log(docs), { max: 5, wait: "1s", size: 5 });
// @ts-expect-error no executor
batchJob("d", async (docs: Doc[]) => console.log(docs), { max: 5, wait: 0, executor: "process" });
// @ts-expect-error a key must be a text
batchJob("e", async (docs: Doc[]) => console.log(docs), { max: 5, wait: 0, key: ({ id }) => id });
// @ts-expect-error the handler must return outcomes, not values
batchJob("f", (docs: Doc[]) => docs.map(({ id }) => id), { max: 5, wait: 0 });
batchJob(
  "g",
  // @ts-expect-error outcomes for some batches only: a result of the others would be undefined
  (docs: Doc[]) => (docs.length > 1 ? docs.map(({ id }) => ({ ok: id })) : undefined),
  { max: 5, wait: 0 },
);
// @ts-expect-error the handler receives a list
batchJob("h", async (doc: Doc) => console.log(doc), { max: 5, wait: 0 });
