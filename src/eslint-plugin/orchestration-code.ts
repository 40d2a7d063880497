// Which code of a file is an orchestration's, which is a step's or an activity's, and what is the context.
//   An orchestration's: functions given to `orchestration(name, fn)`, functions with a parameter of the type
//   OrchestrationContext, functions of the file that are called with a context, and all that is nested in them.
//   Not an orchestration's: functions given to `ctx.step`, `ctx.tx` and `activity(name, fn)`, and those that only
//   such functions use.
//   O1. A file is read once, however many rules ask.
//   O2. A context is followed under other names, into taken-apart members and into helper functions.

import type { Rule, Scope, SourceCode } from "eslint";
import { initialValue, Names, pathIn, type Origin } from "./names.ts";
import {
  callOf,
  chainFrom,
  functionAround,
  isCall,
  isFunction,
  isWithin,
  memberName,
  parentOf,
  typeOf,
  unwrap,
  wrapped,
  type FunctionSyntax,
  type Syntax,
} from "./syntax.ts";

/** Where a node stands, if it has to do with an orchestration. */
export type Place =
  | { readonly kind: "orchestration"; readonly outermost: FunctionSyntax }
  /** Inside a step's, a transaction's or an activity's function; null: in no orchestration. */
  | {
      readonly kind: "work";
      readonly work: FunctionSyntax;
      readonly outermost: FunctionSyntax | null;
    };

const WORK_MEMBERS: ReadonlySet<string> = new Set(["step", "tx"]);
const files = new WeakMap<SourceCode, OrchestrationCode>();

export class OrchestrationCode {
  readonly names: Names;
  readonly #source: SourceCode;
  readonly #modules: ReadonlySet<string>;
  readonly #functions = new Set<FunctionSyntax>();
  readonly #work = new Set<FunctionSyntax>();
  readonly #places = new Map<FunctionSyntax, Place | null>();
  /** Variables that hold a context (an empty path) or a member of one. */
  readonly #contexts = new Map<Scope.Variable, readonly string[]>();

  static of(context: Rule.RuleContext): OrchestrationCode {
    const known = files.get(context.sourceCode); // O1
    if (known !== undefined) return known;
    const made = new OrchestrationCode(context.sourceCode, packageNames(context.settings));
    files.set(context.sourceCode, made);
    return made;
  }

  private constructor(source: SourceCode, modules: ReadonlySet<string>) {
    this.#source = source;
    this.#modules = modules;
    this.names = new Names(source);
    for (const [identifier] of this.names.references) this.#look(identifier);
  }

  /** Whether no rule has anything to look for. */
  get isEmpty(): boolean {
    return this.#functions.size === 0;
  }

  /** The variables that hold a context or members of one. */
  get contexts(): Iterable<readonly [Scope.Variable, readonly string[]]> {
    return this.#contexts;
  }

  /** The name in this package that something comes from, such as `Client`. */
  ownName(origin: Origin | null): string | null {
    const isOwn = origin?.module !== null && this.#modules.has(origin?.module ?? "");
    return isOwn ? (origin?.path.join(".") ?? null) : null;
  }

  isOrchestration(node: FunctionSyntax): boolean {
    return this.#functions.has(node);
  }

  /** Where a node stands; null: no orchestration, step or activity of this file. */
  placeOf(node: Syntax): Place | null {
    const fn = functionAround(node);
    if (fn === null) return null;
    const known = this.#places.get(fn);
    if (known !== undefined) return known;
    const place = this.#findPlace(fn);
    this.#places.set(fn, place);
    return place;
  }

  #findPlace(fn: FunctionSyntax): Place | null {
    let work: FunctionSyntax | null = null;
    let outermost: FunctionSyntax | null = null;
    for (let at: FunctionSyntax | null = fn; at !== null; at = functionAround(at)) {
      if (this.#functions.has(at)) outermost = at;
      else if (outermost === null && work === null && this.#isWork(at)) work = at;
    }
    if (work !== null) return { kind: "work", work, outermost };
    return outermost === null ? null : { kind: "orchestration", outermost };
  }

  isInOrchestration(node: Syntax): boolean {
    return this.placeOf(node)?.kind === "orchestration";
  }

  /** The names that lead from a context to what is called: `["kv", "get"]` for `ctx.kv.get`. */
  contextPath(expression: Syntax): readonly string[] | null {
    const node = unwrap(expression);
    if (node.type === "Identifier") {
      const variable = this.names.variableOf(node);
      return variable === null ? null : (this.#contexts.get(variable) ?? null);
    }
    // `ctx.kv.of(id).get(key)` is the one call that goes on after another.
    if (node.type === "CallExpression") {
      const path = this.contextPath(node.callee);
      return path?.join(".") === "kv.of" ? path : null;
    }
    if (node.type !== "MemberExpression") return null;
    const path = this.contextPath(node.object);
    const name = memberName(node);
    return path === null || name === null ? null : [...path, name];
  }

  /** How the context is called where this node stands, if it can be. */
  contextNameAt(node: Syntax): string | null {
    for (let scope: Scope.Scope | null = this.#source.getScope(node); scope; scope = scope.upper) {
      for (const variable of scope.variables) {
        if (this.#contexts.get(variable)?.length !== 0) continue;
        return this.#isVisible(variable, node) ? variable.name : null;
      }
    }
    return null;
  }

  #isVisible(variable: Scope.Variable, node: Syntax): boolean {
    for (let scope: Scope.Scope | null = this.#source.getScope(node); scope; scope = scope.upper) {
      const found = scope.set.get(variable.name);
      if (found !== undefined) return found === variable;
    }
    return false;
  }

  // ── finding out ────────────────────────────────────────────────────────────────────────────────────────────

  /** One use of a name: a definition of ours, or the type of a parameter? */
  #look(identifier: Syntax): void {
    this.#lookAtType(identifier);
    for (const expression of chainFrom(identifier)) {
      const call = callOf(expression);
      if (call?.type !== "CallExpression") continue;
      const name = this.ownName(this.names.originOf(expression));
      const fn = this.names.functionOf(call.arguments[1]);
      if (fn === null) continue;
      if (name === "orchestration") this.#addOrchestration(fn, 0);
      else if (name === "activity") this.#work.add(fn);
    }
  }

  #lookAtType(identifier: Syntax): void {
    let annotation: Syntax | null = identifier;
    while (TYPE_NAMES.has(typeOf(annotation))) annotation = annotation && parentOf(annotation);
    if (annotation === null || typeOf(annotation) !== "TSTypeAnnotation") return;
    if (this.ownName(this.names.originOfType(annotation)) !== "OrchestrationContext") return;
    const pattern = parentOf(annotation);
    const target = pattern === null ? null : parentOf(pattern);
    const fn = target?.type === "AssignmentPattern" ? parentOf(target) : target;
    if (pattern === null || fn === null || !isFunction(fn)) return;
    const index = fn.params.findIndex((parameter) => isWithin(pattern, parameter));
    if (index >= 0) this.#addOrchestration(fn, index);
  }

  #addOrchestration(fn: FunctionSyntax, index: number): void {
    this.#functions.add(fn);
    const parameter = fn.params[index];
    if (parameter !== undefined) this.#bind(parameter, fn, []);
  }

  /** A pattern takes a context's value, or that of a member of it (O2). */
  #bind(pattern: Syntax, declaration: Syntax, base: readonly string[]): void {
    for (const variable of this.#source.getDeclaredVariables(declaration)) {
      const [definition] = variable.defs;
      const path = definition === undefined ? null : pathIn(pattern, definition.name);
      if (path === null || this.#contexts.has(variable)) continue;
      this.#contexts.set(variable, [...base, ...path]);
      for (const { identifier } of variable.references) {
        if (identifier.type === "Identifier") this.#follow(identifier);
      }
    }
  }

  /** One use of a context or of a member of one. */
  #follow(identifier: Syntax): void {
    for (const expression of chainFrom(identifier)) {
      const path = this.contextPath(expression);
      if (path === null) return;
      const call = callOf(expression);
      if (call !== null && path.length === 1 && WORK_MEMBERS.has(path[0] ?? "")) {
        const fn = this.names.functionOf(call.arguments[1]);
        if (fn !== null) this.#work.add(fn);
      }
      const whole = wrapped(expression);
      const parent = parentOf(whole);
      if (parent?.type === "VariableDeclarator" && parent.init === whole) {
        this.#bind(parent.id, parent, path);
      } else if (path.length === 0 && isCall(parent)) {
        const index = parent.arguments.findIndex((argument) => argument === whole);
        this.#passed(parent.callee, index);
      }
    }
  }

  /** A context is handed to a function of this file. */
  #passed(callee: Syntax, index: number): void {
    const fn = index < 0 ? null : this.names.functionOf(callee);
    if (fn !== null) this.#addOrchestration(fn, index);
  }

  // ── work ───────────────────────────────────────────────────────────────────────────────────────────────────

  #isWork(fn: FunctionSyntax, asking: ReadonlySet<FunctionSyntax> = new Set()): boolean {
    if (this.#work.has(fn)) return true;
    const uses = this.#usesOf(fn);
    if (uses.length === 0 || asking.has(fn)) return false;
    const further = new Set([...asking, fn]);
    return uses.every((use) => this.#isInWork(use, further));
  }

  #isInWork(node: Syntax, asking: ReadonlySet<FunctionSyntax>): boolean {
    for (let at = functionAround(node); at !== null; at = functionAround(at)) {
      if (this.#functions.has(at)) return false;
      if (this.#isWork(at, asking)) return true;
    }
    return false;
  }

  /** Where a named function is used; nothing for one without a name. */
  #usesOf(fn: FunctionSyntax): readonly Syntax[] {
    const declaration = fn.type === "FunctionDeclaration" ? fn : parentOf(wrapped(fn));
    if (declaration === null) return [];
    const variable = this.#source
      .getDeclaredVariables(declaration)
      .find((candidate) => initialValue(candidate) === fn);
    return (variable?.references ?? []).flatMap(({ init, identifier }) =>
      init !== true && identifier.type === "Identifier" ? [identifier] : [],
    );
  }
}

const TYPE_NAMES: ReadonlySet<string> = new Set([
  "Identifier",
  "TSQualifiedName",
  "TSTypeReference",
]);

/** The modules that count as this package: itself, and those that the settings name because they hand it on. */
function packageNames(settings: Rule.RuleContext["settings"]): ReadonlySet<string> {
  const own: unknown = settings["perdure"];
  const named: unknown =
    typeof own === "object" && own !== null && "modules" in own ? own.modules : [];
  const further = Array.isArray(named) ? named.filter((name) => typeof name === "string") : [];
  return new Set(["perdure", ...further]);
}
