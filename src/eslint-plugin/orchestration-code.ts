// Classifies the code of a file as orchestration code, step or activity code ("work"), or neither; and
// finds contexts.
//   - Orchestration code: functions passed to `orchestration(name, fn)`, functions with a parameter of type
//        OrchestrationContext, functions of the file that are called with a context, and all code nested in
//        them.
//   - Work: functions passed to `ctx.step`, `ctx.tx` and `activity(name, fn)`, and functions used only by
//        those.
//   - orchestration-code.1: A file is analyzed once, for all rules.
//   - orchestration-code.2: A context is followed through assignments, destructuring and calls of helper
//        functions.

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

/** The kind of code that a node belongs to. */
export type CodeRegion =
  | { readonly kind: "orchestration"; readonly outermost: FunctionSyntax }
  /**
   * In the function of a step, a transaction or an activity. `outermost` is null outside of an
   * orchestration.
   */
  | {
      readonly kind: "work";
      readonly work: FunctionSyntax;
      readonly outermost: FunctionSyntax | null;
    };

const WORK_MEMBERS: ReadonlySet<string> = new Set(["step", "tx"]);
const files = new WeakMap<SourceCode, OrchestrationCode>();

/** A rule about orchestration code. `create` is not called for a file without such code. */
export function orchestrationRule(
  { description, ...meta }: Rule.RuleMetaData & { readonly description: string },
  create: (context: Rule.RuleContext, code: OrchestrationCode) => Rule.RuleListener,
): Rule.RuleModule {
  return {
    meta: { type: "problem", docs: { description, recommended: true }, schema: [], ...meta },
    create(context) {
      const code = OrchestrationCode.of(context);
      return code.isEmpty ? {} : create(context, code);
    },
  };
}

export class OrchestrationCode {
  readonly names: Names;
  readonly #source: SourceCode;
  readonly #modules: ReadonlySet<string>;
  readonly #functions = new Set<FunctionSyntax>();
  readonly #work = new Set<FunctionSyntax>();
  readonly #regions = new Map<FunctionSyntax, CodeRegion | null>();
  /** Variables that hold a context (an empty path) or a member of one. */
  readonly #contexts = new Map<Scope.Variable, readonly string[]>();

  static of(context: Rule.RuleContext): OrchestrationCode {
    const known = files.get(context.sourceCode); // orchestration-code.1
    if (known !== undefined) return known;
    const analyzed = new OrchestrationCode(context.sourceCode, packageNames(context.settings));
    files.set(context.sourceCode, analyzed);
    return analyzed;
  }

  private constructor(source: SourceCode, modules: ReadonlySet<string>) {
    this.#source = source;
    this.#modules = modules;
    this.names = new Names(source);
    for (const [identifier] of this.names.references) this.#inspect(identifier);
  }

  /** Whether the file has no orchestration code, so that no rule applies. */
  get isEmpty(): boolean {
    return this.#functions.size === 0;
  }

  /** The variables that hold a context or members of one. */
  get contexts(): Iterable<readonly [Scope.Variable, readonly string[]]> {
    return this.#contexts;
  }

  /** The name of an export of this package, such as `Client`. Null: the origin is elsewhere. */
  ownName(origin: Origin | null): string | null {
    const isOwn = origin?.module !== null && this.#modules.has(origin?.module ?? "");
    return isOwn ? (origin?.path.join(".") ?? null) : null;
  }

  isOrchestration(node: FunctionSyntax): boolean {
    return this.#functions.has(node);
  }

  /** The kind of code that a node belongs to. Null: neither orchestration code nor work. */
  regionOf(node: Syntax): CodeRegion | null {
    const fn = functionAround(node);
    if (fn === null) return null;
    const known = this.#regions.get(fn);
    if (known !== undefined) return known;
    const region = this.#findRegion(fn);
    this.#regions.set(fn, region);
    return region;
  }

  #findRegion(fn: FunctionSyntax): CodeRegion | null {
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
    return this.regionOf(node)?.kind === "orchestration";
  }

  /** The member path from a context: `["kv", "get"]` for `ctx.kv.get`. Null: not a context. */
  contextPath(expression: Syntax): readonly string[] | null {
    const node = unwrap(expression);
    if (node.type === "Identifier") {
      const variable = this.names.variableOf(node);
      return variable === null ? null : (this.#contexts.get(variable) ?? null);
    }
    // `ctx.kv.of(id).get(key)` is the only chained call.
    if (node.type === "CallExpression") {
      const path = this.contextPath(node.callee);
      return path?.join(".") === "kv.of" ? path : null;
    }
    if (node.type !== "MemberExpression") return null;
    const path = this.contextPath(node.object);
    const name = memberName(node);
    return path === null || name === null ? null : [...path, name];
  }

  /** The variable name of the context at a node. Null: no context is visible there. */
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

  // ── analysis ───────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Checks one use of a name: whether it defines an orchestration or an activity, or is the type of a
   * parameter.
   */
  #inspect(identifier: Syntax): void {
    this.#inspectType(identifier);
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

  #inspectType(identifier: Syntax): void {
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

  /** Records the variables of a pattern that receives a context or a member of one (orchestration-code.2). */
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

  /** Follows one use of a context or of a member of one. */
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

  /** Marks a function of this file that is called with a context. */
  #passed(callee: Syntax, index: number): void {
    const fn = index < 0 ? null : this.names.functionOf(callee);
    if (fn !== null) this.#addOrchestration(fn, index);
  }

  // ── work ───────────────────────────────────────────────────────────────────────────────────────────────────

  #isWork(fn: FunctionSyntax, visited: ReadonlySet<FunctionSyntax> = new Set()): boolean {
    if (this.#work.has(fn)) return true;
    const uses = this.#usesOf(fn);
    if (uses.length === 0 || visited.has(fn)) return false;
    const nowVisited = new Set([...visited, fn]);
    return uses.every((use) => this.#isInWork(use, nowVisited));
  }

  #isInWork(node: Syntax, visited: ReadonlySet<FunctionSyntax>): boolean {
    for (let at = functionAround(node); at !== null; at = functionAround(at)) {
      if (this.#functions.has(at)) return false;
      if (this.#isWork(at, visited)) return true;
    }
    return false;
  }

  /** The uses of a named function. Empty for an anonymous function. */
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

/** The modules that count as this package: the package, and modules from the settings that re-export it. */
function packageNames(settings: Rule.RuleContext["settings"]): ReadonlySet<string> {
  const own: unknown = settings["perdure"];
  const named: unknown =
    typeof own === "object" && own !== null && "modules" in own ? own.modules : [];
  const further = Array.isArray(named) ? named.filter((name) => typeof name === "string") : [];
  return new Set(["perdure", ...further]);
}
