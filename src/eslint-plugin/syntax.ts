// Helpers for syntax trees of any ESLint parser.
//   - They use no type information.
//   - syntax.1: TypeScript's wrappers around an expression (`as`, `!`, `satisfies`) do not change its
//        meaning and are skipped.

import type { Scope } from "eslint";

export type Syntax = Scope.Scope["block"];
export type SyntaxOf<Type extends Syntax["type"]> = Extract<Syntax, { type: Type }>;
export type Call = SyntaxOf<"CallExpression"> | SyntaxOf<"NewExpression">;
export type FunctionSyntax =
  | SyntaxOf<"FunctionDeclaration">
  | SyntaxOf<"FunctionExpression">
  | SyntaxOf<"ArrowFunctionExpression">;

/** A parser may produce node types that are not in the union. Such a node matches no comparison of `type`. */
function isSyntax(value: unknown): value is Syntax {
  return (
    typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
  );
}

/** The parent of a node. ESLint sets it before any rule runs. */
export function parentOf(node: Syntax): Syntax | null {
  return "parent" in node && isSyntax(node.parent) ? node.parent : null;
}

/** A child of a node that the union's types do not declare. */
export function childOf(node: Syntax, name: string): Syntax | null {
  const child: unknown = Reflect.get(node, name);
  return isSyntax(child) ? child : null;
}

/** The type of a node as a string, also of nodes that only a TypeScript parser produces. */
export function typeOf(node: Syntax | null): string {
  return node?.type ?? "";
}

const WRAPPERS: ReadonlySet<string> = new Set([
  "ChainExpression",
  "TSAsExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
  "TSTypeAssertion",
]);

/** The expression without its TypeScript wrappers (syntax.1). */
export function unwrap(node: Syntax): Syntax {
  if (!WRAPPERS.has(node.type)) return node;
  const inner = childOf(node, "expression");
  return inner === null ? node : unwrap(inner);
}

/** The expression with all its TypeScript wrappers (syntax.1). */
export function wrapped(node: Syntax): Syntax {
  const parent = parentOf(node);
  return parent !== null && WRAPPERS.has(parent.type) ? wrapped(parent) : node;
}

export function isFunction(node: Syntax | null): node is FunctionSyntax {
  return (
    node?.type === "FunctionDeclaration" ||
    node?.type === "FunctionExpression" ||
    node?.type === "ArrowFunctionExpression"
  );
}

export function isCall(node: Syntax | null): node is Call {
  return node?.type === "CallExpression" || node?.type === "NewExpression";
}

/** The name in a member expression or a property. Null: computed at run time. */
export function memberName(
  node: SyntaxOf<"MemberExpression"> | SyntaxOf<"Property">,
): string | null {
  const key: Syntax = node.type === "Property" ? node.key : node.property;
  if (!node.computed && key.type === "Identifier") return key.name;
  if (key.type === "Literal" && typeof key.value === "string") return key.value;
  return null;
}

/** `a`, `a.b`, `a.b.c`, …: the node itself and the member expressions that begin with it. */
export function chainFrom(node: Syntax): readonly Syntax[] {
  const chain = [node];
  for (let last = wrapped(node); ;) {
    const parent = parentOf(last);
    if (parent?.type !== "MemberExpression" || parent.object !== last) return chain;
    chain.push(parent);
    last = wrapped(parent);
  }
}

/** The call or `new` expression of this callee. */
export function callOf(callee: Syntax): Call | null {
  const whole = wrapped(callee);
  const parent = parentOf(whole);
  return isCall(parent) && parent.callee === whole ? parent : null;
}

/** Whether a node is inside another node, or is that node. */
export function isWithin(node: Syntax, outer: Syntax): boolean {
  for (let at: Syntax | null = node; at !== null; at = parentOf(at)) if (at === outer) return true;
  return false;
}

/** The innermost function around a node. */
export function functionAround(node: Syntax): FunctionSyntax | null {
  for (let at = parentOf(node); at !== null; at = parentOf(at)) if (isFunction(at)) return at;
  return null;
}
