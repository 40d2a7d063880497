// The orchestration's context inside a step.

import { noContextInStep } from "../../src/eslint-plugin/no-context-in-step.ts";
import { inside, testRule } from "./support.ts";

const refused = (name: string) => ({ messageId: "context", data: { name } });

testRule("no-context-in-step", noContextInStep, {
  valid: [
    {
      name: "the step's own context, whatever it is called",
      code: inside(`
        await ctx.step("s", (s) => s.log.info(s.idempotencyKey));
        await ctx.step("s", (ctx) => ctx.signal.aborted);
        await ctx.tx("t", ({ run }) => run("insert"));
      `),
    },
    {
      name: "values that were read before",
      code: inside(`const id = ctx.uuid(); await ctx.step("s", () => send(id));`),
    },
    {
      name: "what only tells: info and status",
      code: inside(`await ctx.step("s", () => send(ctx.info.instanceId, ctx.status));`),
    },
    {
      name: "callbacks of scopes, races and compensations are no steps",
      code: inside(`
        ctx.defer(() => ctx.run(charge, 1));
        await ctx.race({ a: () => ctx.sleep(1), b: () => ctx.scope(() => ctx.run(charge, 1)) });
      `),
    },
    {
      name: "an activity's own context",
      code: inside("", `activity("a", (x, ctx) => ctx.heartbeat());`),
    },
  ],
  invalid: [
    {
      name: "every call of it, in a step and in a transaction",
      code: inside(`
        await ctx.step("s", async () => { await ctx.run(charge, 1); return ctx.now(); });
        await ctx.tx("t", () => ctx.kv.set("a", 1));
      `),
      errors: [refused("ctx.run"), refused("ctx.now"), refused("ctx.kv.set")],
    },
    {
      name: "handed on, taken apart, under another name",
      code: inside(`
        const { sleep } = ctx; const same = ctx;
        await ctx.step("s", () => send(ctx));
        await ctx.step("s", () => sleep("1s"));
        await ctx.step("s", () => same.uuid());
      `),
      errors: [refused("ctx"), refused("ctx.sleep"), refused("ctx.uuid")],
    },
    {
      name: "its log: the step has one of its own",
      code: inside(`await ctx.step("s", () => ctx.log.info("hello"));`),
      errors: [{ messageId: "log" }],
    },
    {
      name: "in a named function that is given to a step",
      code: inside(`const load = () => ctx.random(); await ctx.step("s", load);`),
      errors: [refused("ctx.random")],
    },
  ],
});
