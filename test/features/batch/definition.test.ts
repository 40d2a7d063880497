// The definition of a batch job: its checks, and what it is.

import { expect, test } from "vitest";
import { batchJob, type BatchOptions } from "../../../src/batch/index.ts";
import { activity, threads } from "../../../src/index.ts";

const handler = async (items: string[]): Promise<void> => void items;
const RULE = { max: 10, wait: "1s" } as const;

test.each<[string, object | undefined, string]>([
  ["no options", undefined, "The options of batch job"],
  ["no max", { wait: "1s" }, 'batch job "index" needs max and wait; max is missing.'],
  ["no wait", { max: 5 }, 'batch job "index" needs max and wait; wait is missing.'],
  ["max 0", { ...RULE, max: 0 }, 'max of batch job "index" must be a whole number of at least 1'],
  ["a fraction as max", { ...RULE, max: 1.5 }, "must be a whole number of at least 1; got 1.5."],
  ["a text as max", { ...RULE, max: "5" }, 'must be a whole number of at least 1; got "5".'],
  ["a negative wait", { ...RULE, wait: -1 }, 'wait of batch job "index" must be'],
  ["a wrong wait", { ...RULE, wait: "soon" }, 'wait of batch job "index" must be'],
  [
    "a text as key",
    { ...RULE, key: "tenant" },
    'key of batch job "index" must be given a function',
  ],
  [
    "an unknown option",
    { ...RULE, size: 5 },
    'unknown option "size"; known options: max, wait, key,',
  ],
  ["wrong attempts", { ...RULE, attempts: 0 }, "attempts"],
  ["a wrong keep", { ...RULE, keep: { done: "1h" } }, 'unknown option "done"'],
  ["a wrong limit", { ...RULE, limit: {} }, "limit of job"],
  [
    "a timeout that is not longer than the wait",
    { ...RULE, timeout: "1s" },
    'timeout of batch job "index" must be longer than its wait; 1s is not longer than 1s.',
  ],
  [
    "a heartbeat timeout that is not longer than the wait",
    { ...RULE, heartbeatTimeout: "500ms" },
    'heartbeatTimeout of batch job "index" must be longer than its wait',
  ],
  ["an executor", { ...RULE, executor: "process" }, "must not have an executor"],
  [
    "threads",
    { ...RULE, executor: threads({ module: import.meta.url }) },
    "must not have an executor",
  ],
])("a definition with %s is refused", (_, options, message) => {
  // The types refuse most of these options, too.
  const define = (): unknown => batchJob("index", handler, options as BatchOptions<string>);
  expect(define).toThrow(message);
  expect(define).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});

test("a name and a handler are needed", () => {
  expect(() => batchJob("", handler, RULE)).toThrow("job name");
  expect(() => batchJob("index", "handler" as unknown as typeof handler, RULE)).toThrow(
    'batch job "index" must be given a function; got "handler".',
  );
});

test("a batch job is an activity that runs in the process, with the options of a job", () => {
  const index = batchJob("index", handler, {
    ...RULE,
    attempts: 3,
    timeout: "1m",
    priority: 1,
    keep: { completed: "1h" },
    limit: { concurrency: 200 },
    fair: true,
  });
  const same = activity("index", handler as never, { attempts: 3, timeout: "1m", priority: 1 });
  expect(index).toMatchObject({
    kind: "activity",
    name: "index",
    options: same.options,
    defaults: { executor: "process" },
    queue: { rule: { concurrency: 200, fair: true } },
    keepMs: { completed: 3_600_000 },
  });
  expect(Object.isFrozen(index)).toBe(true);
});

test("a handler without a name gets the name of the job for stacks", () => {
  const named: { name: string }[] = [];
  for (const anonymous of [async () => undefined]) {
    Reflect.deleteProperty(anonymous, "name");
    batchJob("index", anonymous, RULE);
    named.push(anonymous);
  }
  expect(named[0]?.name).toBe("index");
});

test("a context that the engine did not create is refused", async () => {
  const index = batchJob("index", handler, RULE);
  const call = index.handler as (item: string, ctx: unknown) => Promise<unknown>;
  await expect(call("x", {})).rejects.toThrow("The engine did not create this context.");
});
