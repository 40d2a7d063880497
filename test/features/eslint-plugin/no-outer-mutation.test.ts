// The rule against changing variables that a replay does not restore.

import { noOuterMutation } from "../../../src/eslint-plugin/no-outer-mutation.ts";
import { inside, testRule } from "./support.ts";

const outer = (name: string) => ({ messageId: "outer", data: { name } });
const step = (name: string) => ({ messageId: "step", data: { name } });

testRule("no-outer-mutation", noOuterMutation, {
  valid: [
    {
      name: "variables of the orchestration, its input and the parameters of its helpers",
      code: inside(
        `let total = 0; const list = []; const seen = new Set();
         total += 1; list.push(total); seen.add(1); input.done = true; ({ total } = input);
         await ctx.scope(async () => { total++; list.length = 0; });
         await helper(ctx, list);`,
        `async function helper(c, list) { list.push(1); list[0] = 2; let own; own = 3; }`,
      ),
    },
    {
      name: "reading outer variables",
      code: inside(`return prices.get(input) + LIMIT;`, `const prices = new Map(), LIMIT = 3;`),
    },
    {
      name: "a nested helper that changes variables of its orchestration",
      code: inside(`let total = 0; const add = async (c) => { total++; }; await add(ctx);`),
    },
    {
      name: "methods of unknown objects, where set and add may have another meaning",
      code: inside(
        `return [set(input, 1), dates.add(input, 1), _.reverse(input), loaded.sort()];`,
        `import * as dates from "date-fns"; import _, { set } from "lodash"; const loaded = load();`,
      ),
    },
    {
      name: "a step that changes its variables or variables of the module",
      code: inside(
        `return ctx.step("s", () => { let own = 0; own++; calls++; return own; });`,
        `let calls = 0;`,
      ),
    },
    {
      name: "code inside activities",
      code: inside("", `let calls = 0; activity("a", () => { calls++; });`),
    },
  ],
  invalid: [
    {
      name: "assignments to variables of the module, of an enclosing function, and to globals",
      code: `import { orchestration } from "perdure";
        let count = 0;
        export function define(state) {
          let last;
          return orchestration("o", async (ctx) => {
            count++; count += 1; [count] = [1]; ({ count } = ctx.info);
            last = ctx.info.instanceId; state.last = last; delete state.last; state.n.m++;
            globalThis.seen = true; undeclared = 1;
          });
        }`,
      errors: [
        ...["count", "count", "count", "count", "last", "state", "state", "state"].map(outer),
        ...["globalThis", "undeclared"].map(outer),
      ],
    },
    {
      name: "methods that change a list, a map or a set",
      code: inside(
        `list.push(1); list.sort(); seen.add(1); cache.set(1, 2); cache.delete(1); state.list.unshift(1);
         Object.assign(state, input);`,
        `const list = [], seen = new Set(), cache = new Map(), state = { list: [] };`,
      ),
      errors: ["list", "list", "seen", "cache", "cache", "state", "state"].map(outer),
    },
    {
      name: "changes in a helper and in a nested block",
      code: inside(
        `await ctx.all(input.map(async (n) => { done.push(n); })); await helper(ctx);`,
        `const done = []; let calls = 0; async function helper(c) { calls++; }`,
      ),
      errors: [outer("calls"), outer("done")],
    },
    {
      name: "a step that changes a variable of its orchestration, because a replay does not run the step",
      code: inside(`
        let total = 0; const rows = []; const found = {};
        await ctx.step("s", async () => { total = 5; rows.push(1); found.it = true; });
        return total;
      `),
      errors: [step("total"), step("rows"), step("found")],
    },
  ],
});
