// Rule no-native-race: use `ctx.race` and `ctx.any`. The native functions do not cancel the losers
// (semantics 7a).

import type { Rule } from "eslint";
import { orchestrationRule } from "./orchestration-code.ts";
import { usesIn } from "./uses.ts";

const RACES: Readonly<Record<string, "race" | "any">> = {
  "Promise.race": "race",
  "Promise.any": "any",
};

export const noNativeRace = orchestrationRule(
  {
    description: "Disallow Promise.race and Promise.any in orchestration code.",
    hasSuggestions: true,
    messages: {
      race: "{{name}} does not cancel the losers. Use ctx.{{method}}, which cancels them.",
      replace: "Use ctx.{{method}}.",
    },
  },
  (context, code) => {
    return {
      Program() {
        for (const { node, name, call } of usesIn(code)) {
          const method = RACES[name];
          if (call === null || method === undefined) continue;
          const ctx = code.contextNameAt(call);
          const [list] = call.arguments;
          const rest = method === "race" ? ".map(({ value }) => value)" : "";
          const fix = (fixer: Rule.RuleFixer): Rule.Fix => {
            const argument = list === undefined ? "" : context.sourceCode.getText(list);
            return fixer.replaceText(call, `${ctx}.${method}(${argument})${rest}`);
          };
          const suggest = { messageId: "replace", data: { method }, fix };
          const isSimple = ctx !== null && list?.type === "ArrayExpression";
          context.report({
            node,
            messageId: "race",
            data: { name, method },
            suggest: isSimple ? [suggest] : [],
          });
        }
      },
    };
  },
);
