// Rule: orchestration code waits for nothing that is evidently not durable.
//   FA1. Only what can be seen is reported: a promise whose origin is not written down may well be durable, and
//        `new Promise` may be settled by another branch of the same orchestration.
//   FA2. Timers and I/O have rules of their own, and are not reported twice.

import type { Rule, Scope } from "eslint";
import { initialValue } from "./names.ts";
import { OrchestrationCode } from "./orchestration-code.ts";
import { callOf, chainFrom, childOf, isCall, type Syntax } from "./syntax.ts";
import { usesIn } from "./uses.ts";

/** A name that ends in `.` stands for everything under it. */
const FOREIGN: Readonly<Record<string, string>> = {
  "Atomics.waitAsync": "ctx.event",
  "crypto.subtle.": "a step (ctx.step)",
  "events.on": "ctx.event",
  "events.once": "ctx.event",
  "stream/promises.": "an activity (ctx.run) or a step (ctx.step)",
};
/** What a process holds to talk to a store from outside. */
const OUTSIDE: ReadonlySet<string> = new Set(["Client", "Perdure", "Perdure.open", "Runtime"]);

export const noForeignAwait: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: {
      description: "Disallow waiting for what is not durable in orchestration code.",
      recommended: true,
    },
    schema: [],
    messages: {
      foreign: "{{name}} gives a promise that is not durable: nothing resumes it. Use {{instead}}.",
      module:
        "import() gives a promise that is not durable. Import at the top of the file, or in a step (ctx.step).",
      client:
        "{{name}} talks to the store from outside of the turn. Use ctx.call, ctx.startDetached, ctx.kv.of or an activity.",
    },
  },
  create(context) {
    const code = OrchestrationCode.of(context);
    if (code.isEmpty) return {};
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
};

/** Made by `new Client(…)`, `await Perdure.open(…)` or typed as one. */
function isClient(code: OrchestrationCode, variable: Scope.Variable): boolean {
  const [definition] = variable.defs;
  const annotation = definition === undefined ? null : childOf(definition.name, "typeAnnotation");
  if (OUTSIDE.has(code.ownName(code.names.originOfType(annotation)) ?? "")) return true;
  const value: Syntax | null = initialValue(variable);
  const made = value?.type === "AwaitExpression" ? value.argument : value;
  if (made === null || !isCall(made)) return false;
  return OUTSIDE.has(code.ownName(code.names.originOf(made.callee)) ?? "");
}
