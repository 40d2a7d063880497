// Rule no-context-in-step: the function of a step or a transaction must not use the context of its
// orchestration.
//   - The function runs outside the turn, so the call would throw GUARD_VIOLATION. Pass the values it needs.

import type { Rule } from "eslint";
import { type OrchestrationCode, orchestrationRule } from "./orchestration-code.ts";
import { chainFrom, isWithin, type Syntax } from "./syntax.ts";

/** Members of the context that may be read anywhere. */
const READABLE: ReadonlySet<string> = new Set(["info", "status"]);

export const noContextInStep = orchestrationRule(
  {
    description: "Disallow the orchestration's context inside steps and transactions.",
    messages: {
      context:
        "{{name}} must not be used inside a step. Call it before the step and pass the value in, or after the step with its result.",
      log: "ctx.log belongs to the turn. Use the log of the step's own argument.",
    },
  },
  (context, code) => {
    return {
      Program() {
        for (const [variable] of code.contexts) {
          for (const { identifier, init } of variable.references) {
            if (identifier.type !== "Identifier" || init === true) continue;
            const region = code.regionOf(identifier);
            const [declared] = variable.identifiers;
            if (region?.kind !== "work" || declared === undefined) continue;
            if (!isWithin(declared, region.work)) report(context, code, identifier);
          }
        }
      },
    };
  },
);

function report(context: Rule.RuleContext, code: OrchestrationCode, identifier: Syntax): void {
  const paths = chainFrom(identifier).flatMap((node) => code.contextPath(node)?.join(".") ?? []);
  const [member] = paths.at(-1)?.split(".") ?? [];
  if (member !== undefined && READABLE.has(member)) return;
  const messageId = member === "log" ? "log" : "context";
  const name = ["ctx", ...(paths.at(-1)?.split(".") ?? [])].filter((part) => part !== "").join(".");
  context.report({ node: identifier, messageId, data: { name } });
}
