// The rule against Promise.race and Promise.any, which do not cancel the losing tasks (semantics 7a).

import { noNativeRace } from "../../../src/eslint-plugin/no-native-race.ts";
import { inside, testRule } from "./support.ts";

testRule("no-native-race", noNativeRace, {
  valid: [
    {
      name: "ctx.race",
      code: inside(`await ctx.race([ctx.sleep(1), ctx.waitFor("go")]);`),
    },
    {
      name: "Promise.all and Promise.allSettled, which have no losers",
      code: inside(`await Promise.all([ctx.sleep(1)]); await Promise.allSettled([ctx.sleep(1)]);`),
    },
    {
      name: "code inside steps and outside of orchestrations",
      code: inside(`await ctx.step("s", () => Promise.race([a(), b()]));`, `Promise.any([]);`),
    },
    {
      name: "a local variable named Promise",
      code: inside(`return Promise.race(input);`, `const Promise = { race: (x) => x };`),
    },
  ],
  invalid: [
    {
      name: "Promise.race; the suggestion keeps the value",
      code: inside(`return await Promise.race([ctx.sleep(1), ctx.waitFor("go")]);`),
      errors: [
        {
          messageId: "race",
          data: { name: "Promise.race", method: "race" },
          suggestions: [
            {
              messageId: "replace",
              output: inside(
                `return await ctx.race([ctx.sleep(1), ctx.waitFor("go")]).map(({ value }) => value);`,
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
      name: "a list that is not a literal gets no suggestion",
      code: inside(`return Promise.race(input);`),
      errors: [{ messageId: "race", suggestions: [] }],
    },
  ],
});
