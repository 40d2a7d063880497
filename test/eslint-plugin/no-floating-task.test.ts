// Tasks that nobody waits for.

import { noFloatingTask } from "../../src/eslint-plugin/no-floating-task.ts";
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
        name: "awaited, kept, returned, given up on purpose",
        code: inside(`
          await ctx.run(charge, 1);
          const kept = ctx.run(charge, 2);
          using timer = ctx.sleep("1s");
          void ctx.run(charge, 3);
          let later; later = ctx.event("go");
          await Promise.all([kept, later, ...input.map((n) => ctx.run(charge, n))]);
          return ctx.continueAsNew(input);
        `),
      },
      {
        name: "calls that give no task",
        code: inside(`
          ctx.setStatus("on its way"); ctx.kv.set("a", 1); ctx.kv.get("a"); ctx.log.info("hello");
          ctx.defer(() => ctx.run(charge, 1)); ctx.startDetached("other", 1, { id: "o" });
          ctx.setAttributes({}); ctx.patched("p"); ctx.run(charge, 1).cancel("no more");
        `),
      },
      {
        name: "a chain that says what to do with a failure",
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
        name: "forEach with a function that waits for nothing",
        code: inside(
          `input.forEach((n) => ctx.log.info(n)); input.forEach((n) => { total += n; });`,
        ),
      },
      {
        name: "steps and activities are not looked at",
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
        "event",
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
        name: "another instance's key-values",
        code: inside(`ctx.kv.of("other").get("key");`),
        errors: [
          floating("ctx.kv.of.get", (put) => inside(`${put}ctx.kv.of("other").get("key");`)),
        ],
      },
      {
        name: "members that were taken apart",
        code: inside(`const { run: go } = ctx; go(charge, 1);`),
        errors: [
          floating("ctx.run", (put) => inside(`const { run: go } = ctx; ${put}go(charge, 1);`)),
        ],
      },
      {
        name: "the end of a chain, a condition or a sequence",
        code: inside(`ctx.run(charge, 1).then((x) => x);`),
        errors: [floating("ctx.run", (put) => inside(`${put}ctx.run(charge, 1).then((x) => x);`))],
      },
      {
        name: "either way of a condition",
        code: inside(`input && ctx.sleep(1);`),
        errors: [floating("ctx.sleep", (put) => inside(`input && ${put}ctx.sleep(1);`))],
      },
      {
        name: "each way of a choice",
        code: inside(`input ? ctx.sleep(1) : ctx.sleep(2);`),
        errors: [
          floating("ctx.sleep", (put) => inside(`input ? ${put}ctx.sleep(1) : ctx.sleep(2);`)),
          floating("ctx.sleep", (put) => inside(`input ? ctx.sleep(1) : ${put}ctx.sleep(2);`)),
        ],
      },
      {
        name: "a compensation that does not return its task; where nothing can be awaited only void is offered",
        code: inside(`ctx.defer(() => { ctx.run(charge, 1); });`),
        errors: [
          floating(
            "ctx.run",
            (put) => inside(`ctx.defer(() => { ${put}ctx.run(charge, 1); });`),
            false,
          ),
        ],
      },
      {
        name: "a helper that is given the context",
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
        name: "forEach with a function that gives a promise",
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
