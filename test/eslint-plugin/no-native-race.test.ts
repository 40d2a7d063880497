// Promise.race and Promise.any cancel nobody (semantics 7a).

import { noNativeRace } from "../../src/eslint-plugin/no-native-race.ts";
import { inside, testRule } from "./support.ts";

testRule("no-native-race", noNativeRace, {
  valid: [
    { name: "the context's own", code: inside(`await ctx.race([ctx.sleep(1), ctx.event("go")]);`) },
    {
      name: "Promise.all and Promise.allSettled, which have no losers",
      code: inside(`await Promise.all([ctx.sleep(1)]); await Promise.allSettled([ctx.sleep(1)]);`),
    },
    {
      name: "steps and code outside",
      code: inside(`await ctx.step("s", () => Promise.race([a(), b()]));`, `Promise.any([]);`),
    },
    {
      name: "another Promise than the global",
      code: inside(`return Promise.race(input);`, `const Promise = { race: (x) => x };`),
    },
  ],
  invalid: [
    {
      name: "Promise.race; the suggestion keeps its value",
      code: inside(`return await Promise.race([ctx.sleep(1), ctx.event("go")]);`),
      errors: [
        {
          messageId: "race",
          data: { name: "Promise.race", method: "race" },
          suggestions: [
            {
              messageId: "replace",
              output: inside(
                `return await ctx.race([ctx.sleep(1), ctx.event("go")]).map(({ value }) => value);`,
              ),
            },
          ],
        },
      ],
    },
    {
      name: "Promise.any",
      code: inside(`return globalThis.Promise.any([ctx.run(charge, 1)]);`),
      errors: [
        {
          messageId: "race",
          data: { name: "Promise.any", method: "any" },
          suggestions: [
            { messageId: "replace", output: inside(`return ctx.any([ctx.run(charge, 1)]);`) },
          ],
        },
      ],
    },
    {
      name: "a list that is not written down is left to a person",
      code: inside(`return Promise.race(input);`),
      errors: [{ messageId: "race", suggestions: [] }],
    },
  ],
});
