// The rule against awaiting promises that are evidently not durable.

import { noForeignAwait } from "../../../src/eslint-plugin/no-foreign-await.ts";
import { inside, testRule } from "./support.ts";

const STEP = "a step (ctx.step)";

testRule(
  "no-foreign-await",
  noForeignAwait,
  {
    valid: [
      {
        name: "tasks, helpers and settled promises",
        code: inside(
          `await ctx.sleep(1); await helper(ctx); await imported(input); await null; await Promise.all([]);
           for await (const message of ctx.events("go")) await ctx.run(charge, message);`,
          `import { imported } from "./pure.js"; async function helper(c) {}`,
        ),
      },
      {
        name: "a promise that another branch can settle",
        code: inside(
          `await new Promise((resolve) => waiting.push(resolve)); const { promise } = Promise.withResolvers();`,
        ),
      },
      {
        name: "code inside steps and activities",
        code: inside(
          `await ctx.step("s", async () => { await import("x"); return once(e, "x"); });`,
          `import { once } from "node:events"; activity("a", async () => crypto.subtle.digest("SHA-256", x));`,
        ),
      },
      {
        name: "using the client outside of orchestrations",
        code: inside(
          "",
          `import { Client } from "perdure"; const client = new Client(p); client.start(w);`,
        ),
      },
    ],
    invalid: [
      {
        name: "a dynamic import",
        code: inside(`const m = await import("./rates.js");`),
        errors: [{ messageId: "module" }],
      },
      {
        name: "event emitters, streams and asynchronous crypto",
        code: inside(
          `await once(emitter, "x"); for await (const x of events.on(e, "x")) {} await pipeline(a, b);
           await crypto.subtle.digest("SHA-256", input); await webcrypto.subtle.sign(a, b, c);`,
          `import events, { once } from "node:events"; import { pipeline } from "node:stream/promises";
           import { webcrypto } from "node:crypto";`,
        ),
        errors: [
          { messageId: "foreign", data: { name: "events.once", instead: "ctx.waitFor" } },
          { messageId: "foreign", data: { name: "events.on", instead: "ctx.waitFor" } },
          {
            messageId: "foreign",
            data: {
              name: "stream/promises.pipeline",
              instead: "an activity (ctx.run) or a step (ctx.step)",
            },
          },
          { messageId: "foreign", data: { name: "crypto.subtle.digest", instead: STEP } },
          { messageId: "foreign", data: { name: "crypto.subtle.sign", instead: STEP } },
        ],
      },
      {
        name: "using the client inside an orchestration",
        code: inside(
          `await client.start(work, 1); await perdure.client.get("x").result();`,
          `import { Client, Perdure } from "perdure"; const client = new Client(p);
           const perdure = await Perdure.open("sqlite:x.db");`,
        ),
        errors: [
          { messageId: "client", data: { name: "client.start" } },
          { messageId: "client", data: { name: "perdure.client.get" } },
        ],
      },
    ],
  },
  {
    valid: [],
    invalid: [
      {
        name: "a client recognised by its type",
        code: `import { orchestration, type Client } from "perdure";
          export function define(client: Client) {
            return orchestration("o", async (ctx) => { await client.start("x"); });
          }`,
        errors: [{ messageId: "client", data: { name: "client.start" } }],
      },
    ],
  },
);
