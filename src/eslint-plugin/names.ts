// Name resolution: whether a name in a file is a global, an import, or a function of the file.
//   - A name is followed through imports, `require`, `await import` and variables that are assigned once. A
//        name that the file declares hides the global of that name.
//   - A name that cannot be resolved with certainty is unknown. The rules then report nothing, to avoid
//        false reports.

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

/** The origin of a value: a module, or the globals (null), and the member path from there. */
export interface Origin {
  readonly module: string | null;
  readonly path: readonly string[];
}

const GLOBAL_OBJECTS: ReadonlySet<string> = new Set(["globalThis", "global", "self", "window"]);
/** Stops the resolution of circular names. */
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

  /** Every use of a name, including type names. */
  get references(): Iterable<[Syntax, Scope.Reference]> {
    return this.#references;
  }

  /** The variable that a name refers to. Null: a global, or not a name. */
  variableOf(node: Syntax): Scope.Variable | null {
    const variable = this.#references.get(node)?.resolved ?? null;
    return variable === null || variable.defs.length === 0 ? null : variable;
  }

  /** The origin of an expression's value. Null: unknown. */
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

  /** The function that an expression is or refers to. */
  functionOf(expression: Syntax | undefined): FunctionSyntax | null {
    if (expression === undefined) return null;
    const node = unwrap(expression);
    if (isFunction(node)) return node;
    const variable = this.variableOf(node);
    if (variable === null) return null;
    const value = initialValue(variable);
    return value !== null && isFunction(value) ? value : null;
  }

  /** The origin of a type annotation, as in `name: perdure.Client`. */
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
  // The default export of a Node module is the module itself.
  if (node.type !== "ImportSpecifier") return { module, path: [] };
  const { imported } = node;
  const name = imported.type === "Identifier" ? imported.name : String(imported.value);
  return { module, path: name === "default" ? [] : [name] };
}

/** Node's modules have two names, with and without "node:". */
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

/**
 * The member path from a destructured value to one of its variables: `b` in `{ a: { b } }` has the path a,
 * b.
 */
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

/** Whether only its declaration assigns a variable. */
function isSetOnce(variable: Scope.Variable): boolean {
  return variable.references.every((reference) => !reference.isWrite() || reference.init === true);
}

/** The initial value of a variable that is assigned once. */
export function initialValue(variable: Scope.Variable): Syntax | null {
  const [definition] = variable.defs;
  if (definition?.type === "FunctionName") return definition.node;
  if (definition?.type !== "Variable" || !isSetOnce(variable)) return null;
  const { init, id } = definition.node;
  return init === null || init === undefined || id !== definition.name ? null : unwrap(init);
}
