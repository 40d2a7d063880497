// Which code the rules take for an orchestration's: asked through the rule that reports `fetch`.

import { noIo } from "../../src/eslint-plugin/no-io.ts";
import { inside, testRule } from "./support.ts";

const errors = [{ messageId: "io" }];

testRule(
  "no-io",
  noIo,
  {
    valid: [
      { name: "a file without orchestrations is left alone", code: `fetch("x");` },
      {
        name: "an activity may do what it likes",
        code: `import { activity } from "perdure"; activity("a", async () => fetch("x"));`,
      },
      {
        name: "an activity beside an orchestration may do what it likes",
        code: inside("", `activity("a", async () => fetch("x"));`),
      },
      {
        name: "an activity's named function may do what it likes",
        code: inside("", `const load = () => fetch("x"); activity("a", load);`),
      },
      {
        name: "a step may do what it likes",
        code: inside(`await ctx.step("s", () => fetch("x"));`),
      },
      {
        name: "so may a transaction, and what is nested in a step",
        code: inside(`
          await ctx.tx("t", (tx) => { [1].forEach(() => fetch("x")); });
          await ctx.step("s", async () => { const get = () => fetch("x"); return get(); });
        `),
      },
      {
        name: "a step's named function may do what it likes",
        code: inside(`const load = () => fetch("x"); return ctx.step("s", load);`),
      },
      {
        name: "so may a function that only steps use",
        code: inside(`
          const get = (url) => fetch(url);
          function twice(url) { return get(url + get(url)); }
          return ctx.all([ctx.step("a", () => get("a")), ctx.step("b", () => twice("b"))]);
        `),
      },
      {
        name: "a step called by a taken-apart member is a step",
        code: inside(`const { step, tx: transact } = ctx;
          await step("s", () => fetch("x"));
          await transact("t", () => fetch("x"));`),
      },
      {
        name: "another package's orchestration is not ours",
        code: `import { orchestration } from "azure"; orchestration("o", async (ctx) => fetch("x"));`,
      },
      {
        name: "an orchestration function of the file is not ours",
        code: `const orchestration = (n, f) => f; orchestration("o", async (ctx) => fetch("x"));`,
      },
      {
        name: "a name of the file hides the global",
        code: inside(`const fetch = (url) => url; return fetch("x");`),
      },
      {
        name: "a function that the context is not given to is not looked at",
        code: inside(`return load(1);`, `const load = (n) => fetch(n);`),
      },
    ],
    invalid: [
      { name: "an orchestration's body is looked at", code: inside(`await fetch("x");`), errors },
      {
        name: "a renamed import is recognised",
        code: `import { orchestration as define } from "perdure"; define("o", async (c) => fetch("x"));`,
        errors,
      },
      {
        name: "an import of everything is recognised",
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
        name: "a module that hands the package on is recognised by the settings",
        code: `import { orchestration } from "#durable"; orchestration("o", async (c) => fetch("x"));`,
        settings: { perdure: { modules: ["#durable"] } },
        errors,
      },
      {
        name: "a function that is named first is recognised",
        code: inside("", `async function body(c) { await fetch("x"); } orchestration("o", body);`),
        errors,
      },
      {
        name: "so is one in a variable",
        code: inside("", `const body = async (c) => fetch("x"); orchestration("o", body);`),
        errors,
      },
      {
        name: "a helper that is given the context is orchestration code, and so is its helper",
        code: inside(
          `return first(1, ctx);`,
          `const first = (n, c) => second(c);
           async function second(context) { await fetch("x"); }`,
        ),
        errors,
      },
      {
        name: "what is nested in scopes, races, joins, shields and compensations is orchestration code",
        code: inside(`
          await ctx.scope(async () => { await fetch("1"); });
          await ctx.race({ a: () => fetch("2"), b: async () => { await fetch("3"); } });
          await ctx.all([1].map((n) => fetch("4")));
          await ctx.shield(() => fetch("5"));
          ctx.defer(() => fetch("6"));
        `),
        errors: [1, 2, 3, 4, 5, 6].map(() => ({ messageId: "io" })),
      },
      {
        name: "a function that a step and the body both use is orchestration code",
        code: inside(`
          const get = () => fetch("x");
          await ctx.step("a", () => get());
          return get();
        `),
        errors,
      },
      {
        name: "a global is known by its other names, and through a variable",
        code: inside(`
          const get = globalThis.fetch;
          await get("1");
          await window.fetch("2");
          await self["fetch"]("3");
        `),
        errors: [1, 2, 3].map(() => ({ messageId: "io", data: { name: "fetch" } })),
      },
      {
        name: "an orchestration inside a function is one like any other",
        code: `import { orchestration } from "perdure";
          export function define(log) { return orchestration("o", async (ctx) => { await fetch("x"); }); }`,
        errors,
      },
    ],
  },
  {
    valid: [
      {
        name: "a type of the same name from elsewhere is not ours",
        code: `import type { OrchestrationContext } from "azure";
          export async function helper(c: OrchestrationContext) { await fetch("x"); }`,
      },
      {
        name: "a signature has no code",
        code: `import type { OrchestrationContext } from "perdure";
          export interface Helper { help(c: OrchestrationContext): void; }
          export declare function help(c: OrchestrationContext): void;
          fetch("x");`,
      },
      {
        name: "casts around a step's function are looked through",
        code: inside(`await ctx.step("s", (() => fetch("x")) as never);`),
      },
    ],
    invalid: [
      {
        name: "a helper with a parameter of the context's type is orchestration code",
        code: `import type { OrchestrationContext } from "perdure";
          export async function helper(n: number, c: OrchestrationContext<Order>) { await fetch("x"); }`,
        errors,
      },
      {
        name: "however the type and the parameter are written",
        code: `import type * as p from "perdure";
          import { type OrchestrationContext as Ctx } from "perdure";
          export const a = async ({ run }: p.OrchestrationContext) => fetch("x");
          export class Helpers { async help(c: Ctx = current) { await fetch("x"); } }`,
        errors: [...errors, ...errors],
      },
      {
        name: "casts and optional calls are looked through",
        code: inside(`await (fetch as any)!("x"); (globalThis as any)?.fetch?.("x");`),
        errors: [...errors, ...errors],
      },
    ],
  },
);
