// Calls whose answer differs from run to run; what the guards derive is left alone unless asked for.

import { noNondeterminism } from "../../src/eslint-plugin/no-nondeterminism.ts";
import { inside, testRule } from "./support.ts";

const differs = (name: string, instead: string) => ({
  messageId: "differs",
  data: { name, instead },
});
const CHANCE = "ctx.random or ctx.uuid, or a step (ctx.step)";
const STEP = "a step (ctx.step), or pass it as input";
const REPORT = [{ derived: "report" }];

testRule("no-nondeterminism", noNondeterminism, {
  valid: [
    {
      name: "what the context offers is right",
      code: inside(`await ctx.sleep("1s"); return [ctx.now(), ctx.random(), ctx.uuid()];`),
    },
    {
      name: "what the guards derive is allowed",
      code: inside(
        `return [Date.now(), new Date(), Date(), performance.now(), Math.random(),
          crypto.randomUUID(), randomUUID()];`,
        `import { randomUUID } from "node:crypto";`,
      ),
    },
    {
      name: "a date that is made from something is the same everywhere",
      code: inside(`return new Date(input.at);`),
      options: REPORT,
    },
    {
      name: "steps and activities are not looked at",
      code: inside(
        `return ctx.step("s", () => { setTimeout(f, 1); return process.env.DISCOUNT; });`,
        `activity("a", () => Math.random());`,
      ),
      options: REPORT,
    },
    {
      name: "what was read when the file was loaded is not read here",
      code: inside(
        `return [DISCOUNT, env.REGION];`,
        `const DISCOUNT = process.env.DISCOUNT, env = { REGION: 1 };`,
      ),
    },
    {
      name: "computing is no chance: hashes, paths, numbers",
      code: inside(
        `return [createHash("sha256"), join("a", "b"), Math.max(1, 2), Date.UTC(2026), performance.mark];`,
        `import { createHash } from "node:crypto"; import { join } from "node:path";`,
      ),
      options: REPORT,
    },
    {
      name: "a name can be allowed, with all that is under it",
      code: inside(`return [process.env.REGION, process.hrtime.bigint()];`),
      options: [{ allow: ["process.env", "process.hrtime"] }],
    },
    {
      name: "a parameter called process is not the process",
      code: inside(`return input.map((process) => process.env);`),
    },
  ],
  invalid: [
    {
      name: "timers are ctx.sleep, however they are reached",
      code: inside(
        `setTimeout(f, 1); globalThis.setInterval(f, 1); setImmediate(f); later(f, 1);
           await pause(1); await timers.scheduler.wait(1);`,
        `import { setTimeout as later } from "node:timers";
           import { setTimeout as pause } from "timers/promises";
           import * as timers from "node:timers/promises";`,
      ),
      errors: [
        differs("setTimeout", "ctx.sleep"),
        differs("setInterval", "ctx.sleep"),
        differs("setImmediate", "ctx.sleep"),
        differs("setTimeout", "ctx.sleep"),
        differs("timers/promises.setTimeout", "ctx.sleep"),
        differs("timers/promises.scheduler.wait", "ctx.sleep"),
      ],
    },
    {
      name: "a time-out signal is a race with a timer",
      code: inside(`return AbortSignal.timeout(5);`),
      errors: [differs("AbortSignal.timeout", "ctx.race with ctx.sleep")],
    },
    {
      name: "random bytes and numbers are the context's",
      code: inside(
        `crypto.getRandomValues(list); webcrypto.getRandomValues(list); randomBytes(8); node.randomInt(6);`,
        `import node, { randomBytes, webcrypto } from "node:crypto";`,
      ),
      errors: [
        differs("crypto.getRandomValues", CHANCE),
        differs("crypto.getRandomValues", CHANCE),
        differs("crypto.randomBytes", CHANCE),
        differs("crypto.randomInt", CHANCE),
      ],
    },
    {
      name: "clocks that the guards do not see",
      code: inside(`return [process.hrtime(), process.hrtime.bigint(), process.uptime(),
          performance.timeOrigin, Temporal.Now.instant()];`),
      errors: [
        differs("process.hrtime", "ctx.now"),
        differs("process.hrtime.bigint", "ctx.now"),
        differs("process.uptime", "ctx.now"),
        differs("performance.timeOrigin", "ctx.now"),
        differs("Temporal.Now.instant", "ctx.now"),
      ],
    },
    {
      name: "what another process or deployment answers differently",
      code: inside(
        `return [process.env.REGION, process.pid, env["REGION"], hostname(), os.cpus().length, process.cwd()];`,
        `import { env } from "node:process"; import os, { hostname } from "node:os";`,
      ),
      errors: [
        differs("process.env", STEP),
        differs("process.pid", STEP),
        differs("process.env", STEP),
        differs("os.hostname", STEP),
        differs("os.cpus", STEP),
        differs("process.cwd", STEP),
      ],
    },
    {
      name: "what the garbage collector decides",
      code: inside(`new WeakRef(input); new FinalizationRegistry(f);`),
      errors: [{ messageId: "differs" }, { messageId: "differs" }],
    },
    {
      name: "what is derived can be reported, with the context's own call as a suggestion",
      code: inside(`return new Date();`),
      options: REPORT,
      errors: [
        {
          messageId: "derived",
          data: { name: "Date", instead: "ctx.now" },
          suggestions: [{ messageId: "replace", output: inside(`return ctx.now();`) }],
        },
      ],
    },
    {
      name: "each by the call that means the same, in the context's own name",
      code: `import { orchestration } from "perdure";
          orchestration("o", async (c) => [Date.now(), Date(), Math.random(), crypto.randomUUID()]);`,
      options: REPORT,
      errors: [
        ["Date.now()", "c.now().getTime()"],
        ["Date()", "c.now().toString()"],
        ["Math.random()", "c.random()"],
        ["crypto.randomUUID()", "c.uuid()"],
      ].map(([from = "", to = ""]) => ({
        messageId: "derived",
        suggestions: [
          {
            messageId: "replace",
            output: `import { orchestration } from "perdure";
          orchestration("o", async (c) => [Date.now(), Date(), Math.random(), crypto.randomUUID()]);`.replace(
              from,
              to,
            ),
          },
        ],
      })),
    },
    {
      name: "nothing is suggested where the context has no name, or where the value would differ",
      code: `import { orchestration } from "perdure";
          orchestration("o", async ({ run }) => Math.random());
          orchestration("p", async (ctx) => performance.now());
          orchestration("q", async (ctx) => [1].map((ctx) => Math.random()));`,
      options: REPORT,
      errors: [1, 2, 3].map(() => ({ messageId: "derived", suggestions: [] })),
    },
  ],
});
