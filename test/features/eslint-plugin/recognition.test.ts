// Which code the rules recognise as orchestration code, tested with the rule that reports `fetch`.

import { noIo } from "../../../src/eslint-plugin/no-io.ts";
import { inside, testRule } from "./support.ts";

const errors = [{ messageId: "io" }];

testRule(
  "no-io",
  noIo,
  {
    valid: [
      { name: "a file without orchestrations is not checked", code: `fetch("x");` },
      {
        name: "an activity is not checked",
        code: `import { activity } from "perdure"; activity("a", async () => fetch("x"));`,
      },
      {
        name: "an activity in the file of an orchestration is not checked",
        code: inside("", `activity("a", async () => fetch("x"));`),
      },
      {
        name: "a named function passed to an activity is not checked",
        code: inside("", `const load = () => fetch("x"); activity("a", load);`),
      },
      {
        name: "a step is not checked",
        code: inside(`await ctx.step("s", () => fetch("x"));`),
      },
      {
        name: "a transaction and functions nested in a step are not checked",
        code: inside(`
          await ctx.tx("t", (tx) => { [1].forEach(() => fetch("x")); });
          await ctx.step("s", async () => { const get = () => fetch("x"); return get(); });
        `),
      },
      {
        name: "a named function passed to a step is not checked",
        code: inside(`const load = () => fetch("x"); return ctx.step("s", load);`),
      },
      {
        name: "a function that only steps use is not checked",
        code: inside(`
          const get = (url) => fetch(url);
          function twice(url) { return get(url + get(url)); }
          return ctx.all([ctx.step("a", () => get("a")), ctx.step("b", () => twice("b"))]);
        `),
      },
      {
        name: "a destructured step member is recognised as a step",
        code: inside(`const { step, tx: transact } = ctx;
          await step("s", () => fetch("x"));
          await transact("t", () => fetch("x"));`),
      },
      {
        name: "an orchestration function of another package is not recognised",
        code: `import { orchestration } from "azure"; orchestration("o", async (ctx) => fetch("x"));`,
      },
      {
        name: "a local function named orchestration is not recognised",
        code: `const orchestration = (n, f) => f; orchestration("o", async (ctx) => fetch("x"));`,
      },
      {
        name: "a local name hides the global",
        code: inside(`const fetch = (url) => url; return fetch("x");`),
      },
      {
        name: "a function that does not receive the context is not checked",
        code: inside(`return load(1);`, `const load = (n) => fetch(n);`),
      },
    ],
    invalid: [
      {
        name: "the body of an orchestration is checked",
        code: inside(`await fetch("x");`),
        errors,
      },
      {
        name: "a renamed import is recognised",
        code: `import { orchestration as define } from "perdure"; define("o", async (c) => fetch("x"));`,
        errors,
      },
      {
        name: "a namespace import is recognised",
        code: `import * as p from "perdure"; p.orchestration("o", async (c) => fetch("x"));`,
        errors,
      },
      {
        name: "require is recognised",
        code: `const { orchestration } = require("perdure"); orchestration("o", async (c) => fetch("x"));`,
        errors,
      },
      {
        name: "await import is recognised",
        code: `const p = await import("perdure"); p.orchestration("o", async (c) => fetch("x"));`,
        errors,
      },
      {
        name: "a module that re-exports the package is recognised through the settings",
        code: `import { orchestration } from "#durable"; orchestration("o", async (c) => fetch("x"));`,
        settings: { perdure: { modules: ["#durable"] } },
        errors,
      },
      {
        name: "a function declaration passed to orchestration is recognised",
        code: inside("", `async function body(c) { await fetch("x"); } orchestration("o", body);`),
        errors,
      },
      {
        name: "a function in a variable passed to orchestration is recognised",
        code: inside("", `const body = async (c) => fetch("x"); orchestration("o", body);`),
        errors,
      },
      {
        name: "a helper that receives the context is orchestration code, and so is the helper of that helper",
        code: inside(
          `return first(1, ctx);`,
          `const first = (n, c) => second(c);
           async function second(context) { await fetch("x"); }`,
        ),
        errors,
      },
      {
        name: "functions nested in scopes, races, joins, shields and compensations are orchestration code",
        code: inside(`
          await ctx.scope(async () => { await fetch("1"); });
          await ctx.race({ a: () => fetch("2"), b: async () => { await fetch("3"); } });
          await ctx.all([1].map((n) => fetch("4")));
          await ctx.shield(() => fetch("5"));
          ctx.compensate(() => fetch("6"));
        `),
        errors: [1, 2, 3, 4, 5, 6].map(() => ({ messageId: "io" })),
      },
      {
        name: "a function used by both a step and the body is orchestration code",
        code: inside(`
          const get = () => fetch("x");
          await ctx.step("a", () => get());
          return get();
        `),
        errors,
      },
      {
        name: "a global is recognised by its other names and through a variable",
        code: inside(`
          const get = globalThis.fetch;
          await get("1");
          await window.fetch("2");
          await self["fetch"]("3");
        `),
        errors: [1, 2, 3].map(() => ({ messageId: "io", data: { name: "fetch" } })),
      },
      {
        name: "an orchestration defined inside a function is recognised",
        code: `import { orchestration } from "perdure";
          export function define(log) { return orchestration("o", async (ctx) => { await fetch("x"); }); }`,
        errors,
      },
    ],
  },
  {
    valid: [
      {
        name: "a type of the same name from another package is not recognised",
        code: `import type { OrchestrationContext } from "azure";
          export async function helper(c: OrchestrationContext) { await fetch("x"); }`,
      },
      {
        name: "a signature without a body is not checked",
        code: `import type { OrchestrationContext } from "perdure";
          export interface Helper { help(c: OrchestrationContext): void; }
          export declare function help(c: OrchestrationContext): void;
          fetch("x");`,
      },
      {
        name: "a cast around the function of a step is ignored",
        code: inside(`await ctx.step("s", (() => fetch("x")) as never);`),
      },
    ],
    invalid: [
      {
        name: "a helper with a parameter of the context type is orchestration code",
        code: `import type { OrchestrationContext } from "perdure";
          export async function helper(n: number, c: OrchestrationContext<Order>) { await fetch("x"); }`,
        errors,
      },
      {
        name: "a helper is recognised by every notation of the type and the parameter",
        code: `import type * as p from "perdure";
          import { type OrchestrationContext as Ctx } from "perdure";
          export const a = async ({ run }: p.OrchestrationContext) => fetch("x");
          export class Helpers { async help(c: Ctx = current) { await fetch("x"); } }`,
        errors: [...errors, ...errors],
      },
      {
        name: "casts and optional calls are ignored",
        code: inside(`await (fetch as any)!("x"); (globalThis as any)?.fetch?.("x");`),
        errors: [...errors, ...errors],
      },
    ],
  },
);
