// Rule no-foreign-await: orchestration code must not wait for promises that are known not to be durable.
//   - Only known sources are reported. A promise of unknown origin may be durable, and another branch of
//        the same orchestration may settle a `new Promise`.
//   - Timers and I/O have separate rules and are not reported twice.

import type { Scope } from "eslint";
import { initialValue } from "./names.ts";
import { type OrchestrationCode, orchestrationRule } from "./orchestration-code.ts";
import { callOf, chainFrom, childOf, isCall, type Syntax } from "./syntax.ts";
import { usesIn } from "./uses.ts";

/** The replacement of each call. A name that ends in `.` covers all its members. */
const FOREIGN: Readonly<Record<string, string>> = {
  "Atomics.waitAsync": "ctx.waitFor",
  "crypto.subtle.": "a step (ctx.step)",
  "events.on": "ctx.waitFor",
  "events.once": "ctx.waitFor",
  "stream/promises.": "an activity (ctx.run) or a step (ctx.step)",
};
/** The classes that access a store from outside an orchestration. */
const OUTSIDE: ReadonlySet<string> = new Set(["Client", "Perdure", "Perdure.open", "Runtime"]);

export const noForeignAwait = orchestrationRule(
  {
    description: "Disallow waiting for promises that are not durable in orchestration code.",
    messages: {
      foreign:
        "{{name}} returns a promise that is not durable: replay cannot resume it. Use {{instead}}.",
      module:
        "import() returns a promise that is not durable. Import at the top of the file, or in a step (ctx.step).",
      client:
        "{{name}} accesses the store outside of the turn. Use ctx.call, ctx.startDetached, ctx.kv.of or an activity.",
    },
  },
  (context, code) => {
    return {
      ImportExpression(node) {
        if (code.isInOrchestration(node)) context.report({ node, messageId: "module" });
      },
      Program() {
        for (const { node, name, call } of usesIn(code)) {
          const family = Object.keys(FOREIGN).find(
            (key) => key.endsWith(".") && name.startsWith(key),
          );
          const instead = FOREIGN[family ?? name];
          if (call === null || instead === undefined) continue;
          context.report({ node, messageId: "foreign", data: { name, instead } });
        }
        for (const [identifier] of code.names.references) {
          if (!code.isInOrchestration(identifier)) continue;
          const variable = code.names.variableOf(identifier);
          if (variable === null || !isClient(code, variable)) continue;
          const node = chainFrom(identifier).find((part) => callOf(part) !== null);
          if (node === undefined) continue;
          const name = context.sourceCode.getText(node);
          context.report({ node, messageId: "client", data: { name } });
        }
      },
    };
  },
);

/** Whether a variable is created by `new Client(…)` or `await Perdure.open(…)`, or has such a type. */
function isClient(code: OrchestrationCode, variable: Scope.Variable): boolean {
  const [definition] = variable.defs;
  const annotation = definition === undefined ? null : childOf(definition.name, "typeAnnotation");
  if (OUTSIDE.has(code.ownName(code.names.originOfType(annotation)) ?? "")) return true;
  const value: Syntax | null = initialValue(variable);
  const made = value?.type === "AwaitExpression" ? value.argument : value;
  if (made === null || !isCall(made)) return false;
  return OUTSIDE.has(code.ownName(code.names.originOf(made.callee)) ?? "");
}
