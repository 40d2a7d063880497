// Traces the SQL text that reaches a database back to its origin (S19).
//   - A statement must be fixed text: literals, constants, and results of functions and parameters that consist of them, in
//        any file. It may contain numbers and values of string union types, but no other text.
//   - The scan follows `prepare(…)`, `exec(…)`, `query(…)` and `new Statement(…)`. It reports text that it cannot follow.

import ts from "typescript";

export interface Sites {
  /** The number of statements that were followed. */
  readonly followed: number;
  /** The statements with text of unknown origin, as `file:line expression`. */
  readonly open: readonly string[];
}

/** The whole value, not a member of it. */
const WHOLE = "";

const SINKS = new Set(["prepare", "exec", "query"]);

/** Methods of strings and lists that return fixed text for fixed text. */
const PURE = new Set(
  [
    "join",
    "map",
    "flatMap",
    "filter",
    "slice",
    "concat",
    "trim",
    "at",
    "repeat",
    "toSorted",
    "toReversed",
    "toLowerCase",
  ].concat([
    "replace",
    "replaceAll",
    "split",
    "keys",
    "values",
    "entries",
    "fromEntries",
    "from",
    "get",
  ]),
);

export function findOpenSql(files: readonly string[], allowed: ReadonlySet<string>): Sites {
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ESNext,
    lib: ["lib.esnext.d.ts"],
    module: ts.ModuleKind.NodeNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    types: ["node"],
    skipLibCheck: true,
  });
  const scan = new Scan(program, files, allowed);
  return scan.run();
}

class Scan {
  readonly #checker: ts.TypeChecker;
  readonly #sources: readonly ts.SourceFile[];
  readonly #allowed: ReadonlySet<string>;
  /** The arguments of all calls of each function. */
  readonly #calls = new Map<ts.Symbol, (readonly ts.Expression[])[]>();
  readonly #known = new Map<string, boolean>();
  /** The questions in progress, with their depth. A cycle adds no new text. */
  readonly #active = new Map<string, number>();
  /** The depth of the outermost question that the current answer assumes to be fixed. Until then the answer is not certain. */
  #assumed = Infinity;
  #cause: ts.Node | null = null;

  constructor(program: ts.Program, files: readonly string[], allowed: ReadonlySet<string>) {
    this.#checker = program.getTypeChecker();
    this.#sources = files.map((file) => program.getSourceFile(file)!);
    this.#allowed = allowed;
  }

  run(): Sites {
    for (const source of this.#sources) this.#noteCalls(source);
    const open: string[] = [];
    let followed = 0;
    const visit = (node: ts.Node): void => {
      const statement = this.#statementOf(node);
      if (statement !== null) {
        followed++;
        this.#cause = null;
        if (!this.#isFixed(statement))
          open.push(`${place(statement)} <- ${place(this.#cause ?? statement)}`);
      }
      ts.forEachChild(node, visit);
    };
    for (const source of this.#sources) visit(source);
    return { followed, open };
  }

  #noteCalls(node: ts.Node): void {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const symbol = this.#symbolOf(node.expression);
      if (symbol !== undefined) {
        const calls = this.#calls.get(symbol) ?? [];
        calls.push(node.arguments ?? []);
        this.#calls.set(symbol, calls);
      }
    }
    ts.forEachChild(node, (child) => this.#noteCalls(child));
  }

  #statementOf(node: ts.Node): ts.Expression | null {
    if (ts.isNewExpression(node)) {
      const isStatement = ts.isIdentifier(node.expression) && node.expression.text === "Statement";
      return isStatement ? (node.arguments?.[0] ?? null) : null;
    }
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return null;
    const { name, expression } = node.expression;
    if (!SINKS.has(name.text)) return null;
    const isPattern = this.#checker.getTypeAtLocation(expression).symbol?.name === "RegExp";
    return isPattern ? null : (node.arguments[0] ?? null);
  }

  #symbolOf(node: ts.Node): ts.Symbol | undefined {
    const symbol = this.#checker.getSymbolAtLocation(
      ts.isPropertyAccessExpression(node) ? node.name : node,
    );
    if (symbol === undefined) return undefined;
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
  }

  /** Whether the whole value is fixed, or the member with that name (for a list: of each element). */
  #isFixed(node: ts.Node, name = WHOLE): boolean {
    const question = `${node.getSourceFile().fileName}:${node.pos}:${node.end}:${node.kind}:${name}`;
    const known = this.#known.get(question);
    const depth = this.#active.get(question);
    if (depth !== undefined) this.#assumed = Math.min(this.#assumed, depth);
    const fixed = known ?? (depth !== undefined || this.#determine(question, node, name));
    if (!fixed) this.#cause ??= node;
    return fixed;
  }

  #determine(question: string, node: ts.Node, name: string): boolean {
    const [outer, depth] = [this.#assumed, this.#active.size];
    this.#assumed = Infinity;
    this.#active.set(question, depth);
    const fixed = this.#check(node, name);
    this.#active.delete(question);
    const isCertain = this.#assumed >= depth;
    if (!fixed || isCertain) this.#known.set(question, fixed);
    this.#assumed = Math.min(outer, isCertain ? Infinity : this.#assumed);
    return fixed;
  }

  #all(nodes: readonly ts.Node[], name = WHOLE): boolean {
    return nodes.every((node) => this.#isFixed(node, name));
  }

  #check(node: ts.Node, name: string): boolean {
    if (ts.isExpression(node) && isHarmless(this.#typeOf(node, name))) return true;
    if (this.#allowed.has(allowanceOf(node))) return true;
    const field = name === WHOLE ? undefined : this.#memberOf(node, name)?.valueDeclaration;
    if (field !== undefined && ts.isPropertyDeclaration(field))
      return this.#fieldIsFixed(field, WHOLE);
    if (ts.isTemplateExpression(node))
      return this.#all(node.templateSpans.map((s) => s.expression));
    if (ts.isBinaryExpression(node)) return this.#all([node.left, node.right], name);
    if (ts.isConditionalExpression(node)) return this.#all([node.whenTrue, node.whenFalse], name);
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSpreadElement(node))
      return this.#isFixed(node.expression, name);
    if (
      ts.isSatisfiesExpression(node) ||
      ts.isNonNullExpression(node) ||
      ts.isAwaitExpression(node)
    )
      return this.#isFixed(node.expression, name);
    if (ts.isArrayLiteralExpression(node)) return this.#all(node.elements, name);
    if (ts.isObjectLiteralExpression(node)) return this.#objectIsFixed(node, name);
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node))
      return this.#returnsFixed(node, name);
    if (ts.isElementAccessExpression(node)) return this.#isFixed(node.expression, name);
    if (ts.isCallExpression(node)) return this.#callIsFixed(node, name);
    if (ts.isNewExpression(node)) return this.#all(node.arguments ?? []);
    if (ts.isPropertyAccessExpression(node)) return this.#memberIsFixed(node, name);
    if (ts.isIdentifier(node)) return this.#isDeclaredFixed(this.#symbolOf(node), name);
    return false;
  }

  #typeOf(node: ts.Expression, name: string): ts.Type {
    const member = name === WHOLE ? undefined : this.#memberOf(node, name);
    if (member !== undefined) return this.#checker.getTypeOfSymbol(member);
    return this.#checker.getTypeAtLocation(node);
  }

  #memberOf(node: ts.Node, name: string): ts.Symbol | undefined {
    return this.#checker.getTypeAtLocation(node).getProperty(name);
  }

  #objectIsFixed({ properties }: ts.ObjectLiteralExpression, name: string): boolean {
    return properties.every((property) => {
      if (ts.isSpreadAssignment(property)) return this.#isFixed(property.expression, name);
      if (name !== WHOLE && property.name?.getText() !== name) return true;
      if (ts.isPropertyAssignment(property)) return this.#isFixed(property.initializer);
      if (!ts.isShorthandPropertyAssignment(property)) return false;
      return this.#isDeclaredFixed(
        this.#checker.getShorthandAssignmentValueSymbol(property),
        WHOLE,
      );
    });
  }

  #memberIsFixed(node: ts.PropertyAccessExpression, name: string): boolean {
    const cause = this.#cause;
    if (this.#isDeclaredFixed(this.#symbolOf(node), name)) return true;
    if (node.expression.kind === ts.SyntaxKind.ThisKeyword) return false;
    this.#cause = cause; // the other way may succeed
    return this.#isFixed(node.expression, node.name.text);
  }

  #callIsFixed(call: ts.CallExpression, name: string): boolean {
    const { expression } = call;
    if (ts.isPropertyAccessExpression(expression) && PURE.has(expression.name.text)) {
      const method = expression.name.text;
      const { text = "" } = ts.isIdentifier(expression.expression) ? expression.expression : {};
      const isNamespace = text === "Object" || text === "Array";
      if (method === "filter") return this.#isFixed(expression.expression, name);
      const made = method === "map" || method === "flatMap";
      const given = call.arguments.filter((one) => !ts.isRegularExpressionLiteral(one));
      if (made && isPlainFunction(given[0])) return this.#all(given, name);
      return (isNamespace || this.#isFixed(expression.expression, name)) && this.#all(given);
    }
    const declaration = this.#symbolOf(expression)?.valueDeclaration;
    if (declaration === undefined) return false;
    if (ts.isFunctionLike(declaration)) return this.#returnsFixed(declaration, name);
    if (ts.isParameter(declaration)) return this.#parameterIsFixed(declaration, name);
    if (ts.isVariableDeclaration(declaration) && declaration.initializer !== undefined)
      return this.#isFixed(declaration.initializer, name);
    return false;
  }

  #returnsFixed(declaration: ts.SignatureDeclaration, name: string): boolean {
    const body = "body" in declaration ? (declaration.body as ts.Node | undefined) : undefined;
    if (body === undefined) return false;
    if (!ts.isBlock(body)) return this.#isFixed(body, name);
    const returned: ts.Expression[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node)) return;
      if (ts.isReturnStatement(node) && node.expression !== undefined)
        returned.push(node.expression);
      ts.forEachChild(node, visit);
    };
    visit(body);
    return returned.length > 0 && this.#all(returned, name);
  }

  #isDeclaredFixed(symbol: ts.Symbol | undefined, name: string): boolean {
    const declarations = symbol?.declarations ?? [];
    return (
      declarations.length > 0 && declarations.every((one) => this.#declarationIsFixed(one, name))
    );
  }

  #declarationIsFixed(declaration: ts.Declaration, name: string): boolean {
    if (ts.isParameter(declaration)) return this.#parameterIsFixed(declaration, name);
    if (ts.isBindingElement(declaration)) {
      const pattern = declaration.parent;
      const taken = (declaration.propertyName ?? declaration.name).getText();
      const member = ts.isObjectBindingPattern(pattern) ? taken : WHOLE;
      const of = pattern.parent;
      return ts.isParameter(of)
        ? this.#parameterIsFixed(of, member)
        : this.#declarationIsFixed(of, member);
    }
    if (ts.isVariableDeclaration(declaration)) {
      const loop = declaration.parent.parent;
      if (ts.isForOfStatement(loop)) return this.#isFixed(loop.expression, name);
      return declaration.initializer !== undefined && this.#isFixed(declaration.initializer, name);
    }
    if (ts.isPropertyAssignment(declaration)) return this.#isFixed(declaration.initializer, name);
    if (ts.isPropertyDeclaration(declaration)) return this.#fieldIsFixed(declaration, name);
    if (ts.isGetAccessor(declaration)) return this.#returnsFixed(declaration, name);
    return false;
  }

  /** Decided by the initializer and all assignments. */
  #fieldIsFixed(field: ts.PropertyDeclaration, name: string): boolean {
    const symbol = this.#symbolOf(field.name);
    const given: ts.Expression[] = field.initializer === undefined ? [] : [field.initializer];
    const visit = (node: ts.Node): void => {
      if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
        const isAssignment =
          ts.isPropertyAccessExpression(node.left) && this.#symbolOf(node.left) === symbol;
        if (isAssignment) given.push(node.right);
      }
      ts.forEachChild(node, visit);
    };
    visit(field.parent);
    return given.length > 0 && this.#all(given, name);
  }

  /** Decided by the arguments of every call, or, for a callback, by the list that it is passed to. */
  #parameterIsFixed(parameter: ts.ParameterDeclaration, name: string): boolean {
    const owner = parameter.parent;
    const index = owner.parameters.indexOf(parameter);
    const { parent } = owner;
    if (ts.isCallExpression(parent) && ts.isPropertyAccessExpression(parent.expression)) {
      return (
        PURE.has(parent.expression.name.text) && this.#isFixed(parent.expression.expression, name)
      );
    }
    const named =
      ts.isVariableDeclaration(parent) || ts.isConstructorDeclaration(owner) ? parent : owner;
    const called = (named as ts.NamedDeclaration).name;
    const symbol = called === undefined ? undefined : this.#symbolOf(called);
    const calls = symbol === undefined ? undefined : this.#calls.get(symbol);
    if (calls === undefined) return false;
    const isOptional = parameter.questionToken !== undefined || parameter.initializer !== undefined;
    if (parameter.initializer !== undefined && !this.#isFixed(parameter.initializer)) return false;
    return calls.every((given) => {
      if (parameter.dotDotDotToken !== undefined) return this.#all(given.slice(index), name);
      const argument = given[index];
      return argument === undefined ? isOptional : this.#isFixed(argument, name);
    });
  }
}

function isPlainFunction(node: ts.Node | undefined): boolean {
  return node !== undefined && (ts.isArrowFunction(node) || ts.isFunctionExpression(node));
}

function isHarmless(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.every(isHarmless);
  // For example `$${number}`, the text of a parameter.
  if ((type.flags & ts.TypeFlags.TemplateLiteral) !== 0)
    return (type as ts.TemplateLiteralType).types.every(isHarmless);
  const harmless =
    ts.TypeFlags.StringLiteral |
    ts.TypeFlags.NumberLike |
    ts.TypeFlags.BooleanLike |
    ts.TypeFlags.Undefined |
    ts.TypeFlags.Null;
  return (type.flags & harmless) !== 0;
}

/** The key under which an expression can be allowed: `src/sqlite/x.ts: name`. */
function allowanceOf(node: ts.Node): string {
  return `${fileOf(node)}: ${node.getText().replaceAll(/\s+/g, " ")}`;
}

function place(node: ts.Node): string {
  const { line } = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart());
  return `${fileOf(node)}:${line + 1} ${node.getText().replaceAll(/\s+/g, " ").slice(0, 80)}`;
}

function fileOf(node: ts.Node): string {
  return node.getSourceFile().fileName.replace(/^.*\/(?=(src|sql-scan)\/)/, "");
}
