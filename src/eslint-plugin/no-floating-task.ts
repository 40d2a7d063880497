// Rule: a task of the context is awaited, kept, returned, or given up on purpose with `void`.
//   A call is recorded when it is made; a task that nobody waits for is cancelled when the orchestration ends.

import type { Rule } from "eslint";
import { OrchestrationCode } from "./orchestration-code.ts";
import {
  functionAround,
  isFunction,
  memberName,
  unwrap,
  type Syntax,
  type SyntaxOf,
} from "./syntax.ts";

/** What gives a task or a promise. */
const TASKS: ReadonlySet<string> = new Set([
  "all",
  "allSettled",
  "any",
  "call",
  "continueAsNew",
  "event",
  "kv.of.get",
  "race",
  "run",
  "scope",
  "shield",
  "sleep",
  "step",
  "tx",
]);
const CHAINING: ReadonlySet<string> = new Set(["catch", "finally", "map", "then"]);

export const noFloatingTask: Rule.RuleModule = {
  meta: {
    type: "problem",
    docs: {
      description:
        "Require tasks of the context to be awaited, kept, returned or marked with void.",
      recommended: true,
    },
    hasSuggestions: true,
    schema: [],
    messages: {
      floating:
        "Nobody waits for {{name}}: the orchestration may end first, and cancels it then. Await it, or keep the task.",
      continues:
        "The code goes on after ctx.continueAsNew: it ends the execution only when it is returned.",
      forEach:
        "forEach waits for nobody. Use a for loop, or await ctx.all(list.map(…)) to run them side by side.",
      addAwait: "Await it.",
      addReturn: "Return it.",
      addVoid: "Say with void that nobody waits.",
    },
  },
  create(context) {
    const code = OrchestrationCode.of(context);
    if (code.isEmpty) return {};
    return {
      ExpressionStatement(node) {
        if (!code.isInOrchestration(node)) return;
        for (const expression of resultsOf(node.expression)) report(context, code, expression);
      },
      CallExpression(node) {
        if (code.isInOrchestration(node) && isForEachOfTasks(code, node)) {
          context.report({ node, messageId: "forEach" });
        }
      },
    };
  },
};

/** The expressions whose value the whole may have. */
function resultsOf(expression: Syntax): readonly Syntax[] {
  const node = unwrap(expression);
  if (node.type === "LogicalExpression") return resultsOf(node.right);
  if (node.type === "SequenceExpression") return node.expressions.flatMap(resultsOf);
  if (node.type === "ConditionalExpression") {
    return [...resultsOf(node.consequent), ...resultsOf(node.alternate)];
  }
  return [node];
}

function report(context: Rule.RuleContext, code: OrchestrationCode, node: Syntax): void {
  const name = taskOf(code, node);
  if (name === null) return;
  const put = (text: string) => (fixer: Rule.RuleFixer) => fixer.insertTextBefore(node, text);
  const addVoid = { messageId: "addVoid", fix: put("void ") };
  const addAwait = { messageId: "addAwait", fix: put("await ") };
  if (name === "ctx.continueAsNew") {
    const suggest = [{ messageId: "addReturn", fix: put("return ") }];
    context.report({ node, messageId: "continues", suggest });
    return;
  }
  const suggest = functionAround(node)?.async === true ? [addAwait, addVoid] : [addVoid];
  context.report({ node, messageId: "floating", data: { name }, suggest });
}

/** What a call is called, if it gives a task that nobody has taken care of. */
function taskOf(code: OrchestrationCode, expression: Syntax): string | null {
  const node = unwrap(expression);
  if (node.type !== "CallExpression") return null;
  const callee = unwrap(node.callee);
  const path = code.contextPath(callee)?.join(".");
  if (path !== undefined) return TASKS.has(path) ? `ctx.${path}` : null;
  const helper = code.names.functionOf(callee);
  if (helper !== null && helper.async === true && code.isOrchestration(helper)) {
    return callee.type === "Identifier" ? callee.name : "the function";
  }
  if (callee.type !== "MemberExpression" || !CHAINING.has(memberName(callee) ?? "")) return null;
  return isHandled(node, memberName(callee)) ? null : taskOf(code, callee.object);
}

/** A chain that says what to do with a failure is somebody's own affair. */
function isHandled(call: SyntaxOf<"CallExpression">, method: string | null): boolean {
  return call.arguments.length >= (method === "catch" ? 1 : method === "then" ? 2 : Infinity);
}

/** `list.forEach(async …)`, or with a function that gives a task. */
function isForEachOfTasks(code: OrchestrationCode, node: SyntaxOf<"CallExpression">): boolean {
  const callee = unwrap(node.callee);
  if (callee.type !== "MemberExpression" || memberName(callee) !== "forEach") return false;
  const [argument] = node.arguments;
  const fn = argument === undefined ? null : unwrap(argument);
  if (!isFunction(fn)) return false;
  return fn.async === true || taskOf(code, fn.body) !== null;
}
