// The compiler messages for typical mistakes: one error, at the wrong argument, in terms of the caller's types.

import { expect, test } from "vitest";
import { typeCheck } from "../support/type-check.ts";

const PRELUDE = `import { activity, event, orchestration, type Client, type Handle, type OrchestrationContext } from "perdure";
import type { TestEnvironment } from "perdure/testing";
declare const ctx: OrchestrationContext;
declare const client: Client;
declare const handle: Handle;
declare const kit: TestEnvironment;
const charge = activity("charge", async (order: { id: string; cents: number }) => "receipt " + order.id);
const ping = activity("ping", async () => 1);
const nightly = orchestration("nightly", async (ctx) => ctx.run(ping));
const approved = event<{ by: string }>("approved");
const double = orchestration("double", async (_ctx, n: number) => n * 2);
export { ctx, client, handle, kit, nightly, charge, ping, approved, double };
`;

const MISTAKES: readonly (readonly [title: string, code: string, message: string])[] = [
  [
    "a member of the wrong type",
    `ctx.run(charge, { id: 7, cents: 5 });`,
    "TS2322: Type 'number' is not assignable to type 'string'.",
  ],
  [
    "a missing member",
    `ctx.run(charge, { id: "a" });`,
    "TS2345: Argument of type '{ id: string; }' is not assignable to parameter of type '{ id: string; cents: number; }'.\n" +
      "  Property 'cents' is missing in type '{ id: string; }' but required in type '{ id: string; cents: number; }'.",
  ],
  ["a missing input", `ctx.run(charge);`, "TS2554: Expected 2-3 arguments, but got 1."],
  [
    "an unknown option",
    `ctx.run(charge, { id: "a", cents: 5 }, { retries: 3 });`,
    "TS2353: Object literal may only specify known properties, and 'retries' does not exist in type 'RunOptions'.",
  ],
  [
    "a number of attempts as a policy",
    `ctx.run(ping, undefined, { retry: 5 });`,
    "TS2559: Type 'number' has no properties in common with type 'RetryOptions'.",
  ],
  [
    "attempts and a policy",
    `ctx.run(ping, undefined, { attempts: 5, retry: { onTimeout: false } });`,
    "TS2322: Type '{ onTimeout: false; }' is not assignable to type 'undefined'.",
  ],
  [
    "an invalid duration",
    `ctx.run(ping, undefined, { timeout: "5 apples" });`,
    "TS2322: Type '\"5 apples\"' is not assignable to type 'Duration | undefined'.",
  ],
  [
    "the wrong input of a child",
    `ctx.call(double, "seven");`,
    "TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.",
  ],
  [
    "a detached start without an id",
    `ctx.startDetached(double, 7);`,
    "TS2554: Expected 3 arguments, but got 2.",
  ],
  [
    "an unknown option of a wait",
    `ctx.waitFor(approved, { timout: "1d" });`,
    "TS2561: Object literal may only specify known properties, but 'timout' does not exist in type 'WaitForOptions<undefined>'. Did you mean to write 'timeout'?",
  ],
  [
    "an invalid timeout of a wait",
    `ctx.waitFor(approved, { timeout: "2 days" });`,
    "TS2322: Type '\"2 days\"' is not assignable to type 'Duration | undefined'.",
  ],
  [
    "a wait with a timeout whose result is not checked",
    `(await ctx.waitFor(approved, { timeout: "2d" })).by;`,
    "TS2531: Object is possibly 'null'.",
  ],
  [
    "a function for ctx.run, as in Inngest and Restate",
    `ctx.run("charge", async () => 5);`,
    "TS2345: Argument of type '() => Promise<number>' is not assignable to parameter of type '\"ctx.run takes an input here, not a function: did you mean ctx.step(name, fn)?\"'.",
  ],
  [
    "the wrong input of a start",
    `void client.start(double, "seven");`,
    "TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.",
  ],
  [
    "an unknown option of a start",
    `void client.start(double, 7, { idd: "x" });`,
    "TS2353: Object literal may only specify known properties, and 'idd' does not exist in type 'StartOptions'.",
  ],
  [
    "options as the input of an orchestration without an input",
    `void client.start(nightly, { id: "x" });`,
    "TS2345: Argument of type '{ id: string; }' is not assignable to parameter of type 'undefined'.",
  ],
  [
    "options as the input of an activity without an input",
    `ctx.run(ping, { attempts: 5 });`,
    "TS2345: Argument of type '{ attempts: number; }' is not assignable to parameter of type 'undefined'.",
  ],
  [
    "a mock that is neither a function nor a sequence of outcomes",
    `kit.mock(charge, "receipt 1");`,
    "TS2345: Argument of type 'string' is not assignable to parameter of type 'MockFunction<{ id: string; cents: number; }, string> | readonly MockOutcome<{ id: string; cents: number; }, string>[]'.",
  ],
  [
    "the wrong data of an event",
    `void handle.raise(approved, { by: 7 });`,
    "TS2322: Type 'number' is not assignable to type 'string'.",
  ],
  [
    "an event without its data",
    `void handle.raise(approved);`,
    "TS2554: Expected 2-3 arguments, but got 1.",
  ],
];

const LINES_BEFORE = PRELUDE.split("\n").length - 1;
const problems = typeCheck([
  {
    path: "test/project/types/mistakes.ts",
    text: PRELUDE + MISTAKES.map(([, code]) => code).join("\n"),
  },
]);

test.each(
  MISTAKES.map(([title, , message], i) => ({ title, message, line: LINES_BEFORE + i + 1 })),
)("the compiler names the mistake: $title", ({ message, line }) => {
  const found = problems.filter((problem) => problem.line === line);
  expect(found.map((problem) => problem.message)).toEqual([message]);
});

test("the compiler reports nothing else", () => {
  expect(problems).toHaveLength(MISTAKES.length);
});
