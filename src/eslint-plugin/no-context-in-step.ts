// Rule: a step's or a transaction's function does not use the context of its orchestration.
//   It runs outside of the turn: the call would be refused with GUARD_VIOLATION. What it needs it is given.

import type { Rule } from "eslint";
import { OrchestrationCode } from "./orchestration-code.ts";
import { chainFrom, isWithin, type Syntax } from "./syntax.ts";

/** What only tells, and may be read anywhere. */
const READABLE: ReadonlySet<string> = new Set(["info", "status"]);

export const noContextInStep: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: {
      description: "Disallow the orchestration's context inside steps and transactions.",
      recommended: true,
    },
    schema: [],
    messages: {
      context:
        "{{name}} is refused inside a step. Call it before, and hand its value in; or call it after, with what the step returns.",
      log: "ctx.log belongs to the turn. The step's own argument has a log.",
    },
  },
  create(context) {
    const code = OrchestrationCode.of(context);
    if (code.isEmpty) return {};
    return {
      Program() {
        for (const [variable] of code.contexts) {
          for (const { identifier, init } of variable.references) {
            if (identifier.type !== "Identifier" || init === true) continue;
            const place = code.placeOf(identifier);
            const [declared] = variable.identifiers;
            if (place?.kind !== "work" || declared === undefined) continue;
            if (!isWithin(declared, place.work)) report(context, code, identifier);
          }
        }
      },
    };
  },
};

function report(context: Rule.RuleContext, code: OrchestrationCode, identifier: Syntax): void {
  const paths = chainFrom(identifier).flatMap((node) => code.contextPath(node)?.join(".") ?? []);
  const [member] = paths.at(-1)?.split(".") ?? [];
  if (member !== undefined && READABLE.has(member)) return;
  const messageId = member === "log" ? "log" : "context";
  const name = ["ctx", ...(paths.at(-1)?.split(".") ?? [])].filter((part) => part !== "").join(".");
  context.report({ node: identifier, messageId, data: { name } });
}
