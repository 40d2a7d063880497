// The rule against tasks that are not awaited.

import { noFloatingTask } from "../../../src/eslint-plugin/no-floating-task.ts";
import { inside, testRule } from "./support.ts";

const floating = (name: string, code: (text: string) => string, isAsync = true) => ({
  messageId: "floating",
  data: { name },
  suggestions: [
    ...(isAsync ? [{ messageId: "addAwait", output: code("await ") }] : []),
    { messageId: "addVoid", output: code("void ") },
  ],
});

testRule(
  "no-floating-task",
  noFloatingTask,
  {
    valid: [
      {
        name: "tasks that are awaited, stored, returned or discarded with void",
        code: inside(`
          await ctx.run(charge, 1);
          const kept = ctx.run(charge, 2);
          using timer = ctx.sleep("1s");
          void ctx.run(charge, 3);
          let later; later = ctx.waitFor("go");
          await Promise.all([kept, later, ...input.map((n) => ctx.run(charge, n))]);
          return ctx.continueAsNew(input);
        `),
      },
      {
        name: "calls that do not return a task",
        code: inside(`
          ctx.setStatus("on its way"); ctx.kv.set("a", 1); ctx.kv.get("a"); ctx.log.info("hello");
          ctx.compensate(() => ctx.run(charge, 1)); ctx.startDetached("other", 1, { id: "o" });
          ctx.setAttributes({}); ctx.patched("p"); ctx.run(charge, 1).cancel("no more");
        `),
      },
      {
        name: "a chain that handles a failure",
        code: inside(`
          ctx.run(charge, 1).catch((error) => ctx.log.warn(String(error)));
          ctx.run(charge, 1).then(() => 1, () => 2);
        `),
      },
      {
        name: "an object of another kind that has a run method",
        code: inside(`input.run(1); runner.sleep("1s");`),
      },
      {
        name: "forEach with a function without an await",
        code: inside(
          `input.forEach((n) => ctx.log.info(n)); input.forEach((n) => { total += n; });`,
        ),
      },
      {
        name: "code inside steps and activities",
        code: inside(`await ctx.step("s", () => { input.forEach(async () => 1); });`),
      },
    ],
    invalid: [
      ...[
        "run",
        "step",
        "tx",
        "call",
        "sleep",
        "waitFor",
        "scope",
        "all",
        "allSettled",
        "any",
        "race",
        "shield",
      ].map((method) => ({
        name: `ctx.${method} as a statement`,
        code: inside(`ctx.${method}(input);`),
        errors: [floating(`ctx.${method}`, (put) => inside(`${put}ctx.${method}(input);`))],
      })),
      {
        name: "reading key-values of another instance",
        code: inside(`ctx.kv.of("other").get("key");`),
        errors: [
          floating("ctx.kv.of.get", (put) => inside(`${put}ctx.kv.of("other").get("key");`)),
        ],
      },
      {
        name: "destructured members",
        code: inside(`const { run: go } = ctx; go(charge, 1);`),
        errors: [
          floating("ctx.run", (put) => inside(`const { run: go } = ctx; ${put}go(charge, 1);`)),
        ],
      },
      {
        name: "a chain that handles no failure",
        code: inside(`ctx.run(charge, 1).then((x) => x);`),
        errors: [floating("ctx.run", (put) => inside(`${put}ctx.run(charge, 1).then((x) => x);`))],
      },
      {
        name: "the right side of a condition",
        code: inside(`input && ctx.sleep(1);`),
        errors: [floating("ctx.sleep", (put) => inside(`input && ${put}ctx.sleep(1);`))],
      },
      {
        name: "both branches of a conditional expression",
        code: inside(`input ? ctx.sleep(1) : ctx.sleep(2);`),
        errors: [
          floating("ctx.sleep", (put) => inside(`input ? ${put}ctx.sleep(1) : ctx.sleep(2);`)),
          floating("ctx.sleep", (put) => inside(`input ? ctx.sleep(1) : ${put}ctx.sleep(2);`)),
        ],
      },
      {
        name: "a compensation that does not return its task; a function that is not async gets only the void suggestion",
        code: inside(`ctx.compensate(() => { ctx.run(charge, 1); });`),
        errors: [
          floating(
            "ctx.run",
            (put) => inside(`ctx.compensate(() => { ${put}ctx.run(charge, 1); });`),
            false,
          ),
        ],
      },
      {
        name: "a helper that receives the context",
        code: inside(`helper(ctx);`, `async function helper(c) { await c.sleep(1); }`),
        errors: [
          floating("helper", (put) =>
            inside(`${put}helper(ctx);`, `async function helper(c) { await c.sleep(1); }`),
          ),
        ],
      },
      {
        name: "continueAsNew that is not returned",
        code: inside(`ctx.continueAsNew(input);`),
        errors: [
          {
            messageId: "continues",
            suggestions: [
              { messageId: "addReturn", output: inside(`return ctx.continueAsNew(input);`) },
            ],
          },
        ],
      },
      {
        name: "forEach with a function that returns a promise",
        code: inside(`
          input.forEach(async (n) => { await ctx.run(charge, n); });
          input.forEach((n) => ctx.run(charge, n));
        `),
        errors: [{ messageId: "forEach" }, { messageId: "forEach" }],
      },
    ],
  },
  {
    valid: [
      { name: "a cast task that is awaited", code: inside(`await (ctx.run(charge, 1) as any);`) },
    ],
    invalid: [
      {
        name: "a cast or optional task",
        code: inside(`(ctx.run(charge, 1) as any);`),
        errors: [floating("ctx.run", (put) => inside(`(${put}ctx.run(charge, 1) as any);`))],
      },
    ],
  },
);
