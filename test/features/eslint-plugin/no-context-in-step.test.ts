// The rule against using the orchestration's context inside a step.

import { noContextInStep } from "../../../src/eslint-plugin/no-context-in-step.ts";
import { inside, testRule } from "./support.ts";

const refused = (name: string) => ({ messageId: "context", data: { name } });

testRule("no-context-in-step", noContextInStep, {
  valid: [
    {
      name: "the context of the step, under any name",
      code: inside(`
        await ctx.step("s", (s) => s.log.info(s.idempotencyKey));
        await ctx.step("s", (ctx) => ctx.signal.aborted);
        await ctx.tx("t", ({ run }) => run("insert"));
      `),
    },
    {
      name: "values that were read before the step",
      code: inside(`const id = ctx.uuid(); await ctx.step("s", () => send(id));`),
    },
    {
      name: "read-only members: info and status",
      code: inside(`await ctx.step("s", () => send(ctx.info.instanceId, ctx.status));`),
    },
    {
      name: "callbacks of scopes, races and compensations, which are not steps",
      code: inside(`
        ctx.compensate(() => ctx.run(charge, 1));
        await ctx.race({ a: () => ctx.sleep(1), b: () => ctx.scope(() => ctx.run(charge, 1)) });
      `),
    },
    {
      name: "the context of an activity",
      code: inside("", `activity("a", (x, ctx) => ctx.heartbeat());`),
    },
  ],
  invalid: [
    {
      name: "every call of the context, in a step and in a transaction",
      code: inside(`
        await ctx.step("s", async () => { await ctx.run(charge, 1); return ctx.now(); });
        await ctx.tx("t", () => ctx.kv.set("a", 1));
      `),
      errors: [refused("ctx.run"), refused("ctx.now"), refused("ctx.kv.set")],
    },
    {
      name: "the context passed on, destructured or under another name",
      code: inside(`
        const { sleep } = ctx; const same = ctx;
        await ctx.step("s", () => send(ctx));
        await ctx.step("s", () => sleep("1s"));
        await ctx.step("s", () => same.uuid());
      `),
      errors: [refused("ctx"), refused("ctx.sleep"), refused("ctx.uuid")],
    },
    {
      name: "the log of the context, because the step has a separate log",
      code: inside(`await ctx.step("s", () => ctx.log.info("hello"));`),
      errors: [{ messageId: "log" }],
    },
    {
      name: "a named function that is passed to a step",
      code: inside(`const load = () => ctx.random(); await ctx.step("s", load);`),
      errors: [refused("ctx.random")],
    },
  ],
});
