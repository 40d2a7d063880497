// What a name in a file stands for: a global, something imported, or a function written there.
//   M1. A name is followed through imports, `require`, `await import` and variables that are set once; a name that
//       is declared in the file hides the global of that name.
//   M2. What is not certain is unknown, so that a rule that asks here stays silent rather than be wrong.

import type { Scope, SourceCode } from "eslint";
import {
  childOf,
  isFunction,
  memberName,
  typeOf,
  unwrap,
  type FunctionSyntax,
  type Syntax,
} from "./syntax.ts";

/** Where something comes from: a module, or the globals (null), and the names that lead to it from there. */
export interface Origin {
  readonly module: string | null;
  readonly path: readonly string[];
}

const GLOBAL_OBJECTS: ReadonlySet<string> = new Set(["globalThis", "global", "self", "window"]);
/** A name that leads in a circle ends here. */
const DEPTH_MAX = 10;

export class Names {
  readonly #references = new Map<Syntax, Scope.Reference>();

  constructor(source: SourceCode) {
    for (const scope of source.scopeManager.scopes) {
      for (const reference of scope.references) {
        if (reference.identifier.type === "Identifier") {
          this.#references.set(reference.identifier, reference);
        }
      }
    }
  }

  /** Every use of a name, types included. */
  get references(): Iterable<[Syntax, Scope.Reference]> {
    return this.#references;
  }

  /** The variable that a name means; null: a global, or no name at all. */
  variableOf(node: Syntax): Scope.Variable | null {
    const variable = this.#references.get(node)?.resolved ?? null;
    return variable === null || variable.defs.length === 0 ? null : variable;
  }

  /** Where an expression's value comes from. */
  originOf(expression: Syntax, depth = 0): Origin | null {
    const node = unwrap(expression);
    if (depth > DEPTH_MAX) return null;
    if (node.type === "Identifier") return this.#originOfName(node, depth);
    const module = loadedModule(node, (name) => this.#isGlobal(name));
    if (module !== null) return { module, path: [] };
    if (node.type !== "MemberExpression") return null;
    const origin = this.originOf(node.object, depth + 1);
    const name = memberName(node);
    if (origin === null || name === null) return null;
    return origin.module === null && origin.path.length === 0
      ? { module: null, path: GLOBAL_OBJECTS.has(name) ? [] : [name] }
      : { module: origin.module, path: [...origin.path, name] };
  }

  #originOfName(node: Syntax & { type: "Identifier" }, depth: number): Origin | null {
    if (this.#isGlobal(node)) {
      return { module: null, path: GLOBAL_OBJECTS.has(node.name) ? [] : [node.name] };
    }
    const variable = this.variableOf(node);
    return variable === null ? null : this.originOfVariable(variable, depth);
  }

  originOfVariable(variable: Scope.Variable, depth = 0): Origin | null {
    const [definition] = variable.defs;
    if (definition?.type === "ImportBinding") return importOrigin(definition);
    if (definition?.type !== "Variable" || !isSetOnce(variable)) return null;
    const { init, id } = definition.node;
    if (init === null || init === undefined) return null;
    const origin = this.originOf(init, depth + 1);
    const path = pathIn(id, definition.name);
    return origin === null || path === null
      ? null
      : { module: origin.module, path: [...origin.path, ...path] };
  }

  /** The function that an expression is, or names. */
  functionOf(expression: Syntax | undefined): FunctionSyntax | null {
    if (expression === undefined) return null;
    const node = unwrap(expression);
    if (isFunction(node)) return node;
    const variable = this.variableOf(node);
    if (variable === null) return null;
    const value = initialValue(variable);
    return value !== null && isFunction(value) ? value : null;
  }

  /** A type's name, as in `name: perdure.Client`. */
  originOfType(annotation: Syntax | null): Origin | null {
    const type = annotation === null ? null : childOf(annotation, "typeAnnotation");
    const name = type === null ? null : childOf(type, "typeName");
    return typeOf(type) === "TSTypeReference" && name !== null
      ? this.#originOfTypeName(name)
      : null;
  }

  #originOfTypeName(name: Syntax): Origin | null {
    if (name.type === "Identifier") return this.originOf(name);
    const left = childOf(name, "left");
    const right = childOf(name, "right");
    if (left === null || right?.type !== "Identifier") return null;
    const origin = this.#originOfTypeName(left);
    return origin === null ? null : { module: origin.module, path: [...origin.path, right.name] };
  }

  #isGlobal(node: Syntax): boolean {
    const reference = this.#references.get(node);
    return reference !== undefined && (reference.resolved?.defs.length ?? 0) === 0;
  }
}

function importOrigin(definition: Extract<Scope.Definition, { type: "ImportBinding" }>): Origin {
  const { node, parent } = definition;
  const module = moduleName(String(parent.source.value));
  // What Node's own modules export by default is the module itself.
  if (node.type !== "ImportSpecifier") return { module, path: [] };
  const { imported } = node;
  const name = imported.type === "Identifier" ? imported.name : String(imported.value);
  return { module, path: name === "default" ? [] : [name] };
}

/** Node's own modules have two names each. */
function moduleName(specifier: string): string {
  return specifier.replace(/^node:/, "");
}

/** The module of `require("…")` and `await import("…")`. */
function loadedModule(node: Syntax, isGlobal: (name: Syntax) => boolean): string | null {
  if (node.type === "AwaitExpression" && node.argument.type === "ImportExpression") {
    return literalModule(node.argument.source);
  }
  if (node.type !== "CallExpression" || node.callee.type !== "Identifier") return null;
  const isRequire = node.callee.name === "require" && isGlobal(node.callee);
  return isRequire ? literalModule(node.arguments[0]) : null;
}

function literalModule(node: Syntax | undefined): string | null {
  const isText = node?.type === "Literal" && typeof node.value === "string";
  return isText ? moduleName(String(node.value)) : null;
}

/** The names that lead from a pattern's value to one of its variables: `b` of `{ a: { b } }` is at a, b. */
export function pathIn(pattern: Syntax, name: Syntax): readonly string[] | null {
  if (pattern === name) return [];
  if (pattern.type === "AssignmentPattern") return pathIn(pattern.left, name);
  if (pattern.type !== "ObjectPattern") return null;
  for (const property of pattern.properties) {
    if (property.type !== "Property") continue;
    const inner = pathIn(property.value, name);
    const key = memberName(property);
    if (inner !== null) return key === null ? null : [key, ...inner];
  }
  return null;
}

/** Whether nothing but its declaration writes to a variable. */
function isSetOnce(variable: Scope.Variable): boolean {
  return variable.references.every((reference) => !reference.isWrite() || reference.init === true);
}

/** What a variable that is set once is declared with. */
export function initialValue(variable: Scope.Variable): Syntax | null {
  const [definition] = variable.defs;
  if (definition?.type === "FunctionName") return definition.node;
  if (definition?.type !== "Variable" || !isSetOnce(variable)) return null;
  const { init, id } = definition.node;
  return init === null || init === undefined || id !== definition.name ? null : unwrap(init);
}
