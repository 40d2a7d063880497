// The rule against calls with different results per run. Calls that the guards derive are reported only on request.

import { noNondeterminism } from "../../../src/eslint-plugin/no-nondeterminism.ts";
import { inside, testRule } from "./support.ts";

const differs = (name: string, instead: string) => ({
  messageId: "differs",
  data: { name, instead },
});
const RANDOM = "ctx.random or ctx.uuid, or a step (ctx.step)";
const STEP = "a step (ctx.step), or pass it as input";
const REPORT = [{ derived: "report" }];

testRule("no-nondeterminism", noNondeterminism, {
  valid: [
    {
      name: "calls of the context",
      code: inside(`await ctx.sleep("1s"); return [ctx.now(), ctx.random(), ctx.uuid()];`),
    },
    {
      name: "calls that the guards derive",
      code: inside(
        `return [Date.now(), new Date(), Date(), performance.now(), Math.random(),
          crypto.randomUUID(), randomUUID()];`,
        `import { randomUUID } from "node:crypto";`,
      ),
    },
    {
      name: "a date created from an argument",
      code: inside(`return new Date(input.at);`),
      options: REPORT,
    },
    {
      name: "code inside steps and activities",
      code: inside(
        `return ctx.step("s", () => { setTimeout(f, 1); return process.env.DISCOUNT; });`,
        `activity("a", () => Math.random());`,
      ),
      options: REPORT,
    },
    {
      name: "values read when the module was loaded",
      code: inside(
        `return [DISCOUNT, env.REGION];`,
        `const DISCOUNT = process.env.DISCOUNT, env = { REGION: 1 };`,
      ),
    },
    {
      name: "pure computations: hashes, paths, numbers",
      code: inside(
        `return [createHash("sha256"), join("a", "b"), Math.max(1, 2), Date.UTC(2026), performance.mark];`,
        `import { createHash } from "node:crypto"; import { join } from "node:path";`,
      ),
      options: REPORT,
    },
    {
      name: "an allowed name and its members",
      code: inside(`return [process.env.REGION, process.hrtime.bigint()];`),
      options: [{ allow: ["process.env", "process.hrtime"] }],
    },
    {
      name: "a parameter named process",
      code: inside(`return input.map((process) => process.env);`),
    },
  ],
  invalid: [
    {
      name: "timers, with every kind of import; use ctx.sleep",
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
      name: "a timeout signal; use a race with ctx.sleep",
      code: inside(`return AbortSignal.timeout(5);`),
      errors: [differs("AbortSignal.timeout", "ctx.race with ctx.sleep")],
    },
    {
      name: "random bytes and numbers; use the context",
      code: inside(
        `crypto.getRandomValues(list); webcrypto.getRandomValues(list); randomBytes(8); node.randomInt(6);`,
        `import node, { randomBytes, webcrypto } from "node:crypto";`,
      ),
      errors: [
        differs("crypto.getRandomValues", RANDOM),
        differs("crypto.getRandomValues", RANDOM),
        differs("crypto.randomBytes", RANDOM),
        differs("crypto.randomInt", RANDOM),
      ],
    },
    {
      name: "clocks that the guards do not cover",
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
      name: "values that depend on the process or the deployment",
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
      name: "objects that depend on the garbage collector",
      code: inside(`new WeakRef(input); new FinalizationRegistry(f);`),
      errors: [{ messageId: "differs" }, { messageId: "differs" }],
    },
    {
      name: "derived calls if requested, with the call of the context as a suggestion",
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
      name: "each derived call with its equivalent, under the name of the context",
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
      name: "no suggestion if the context has no name or the value would differ",
      code: `import { orchestration } from "perdure";
          orchestration("o", async ({ run }) => Math.random());
          orchestration("p", async (ctx) => performance.now());
          orchestration("q", async (ctx) => [1].map((ctx) => Math.random()));`,
      options: REPORT,
      errors: [1, 2, 3].map(() => ({ messageId: "derived", suggestions: [] })),
    },
  ],
});
