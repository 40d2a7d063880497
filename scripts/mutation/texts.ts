// Texts that are not mutated, with the reason shown in the report.
//   - Error messages are for people and may change. Error codes are mutated, and so is every other text.
//   - An SQL statement could only be replaced by an empty one, which the first test that opens a store would detect: it
//        would raise the score without meaning. The contract, the model and `npm run sabotage` test the statements.

interface Syntax {
  readonly type: string;
  readonly value?: unknown;
  readonly name?: unknown;
  readonly callee?: Syntax;
  readonly property?: Syntax;
}
/** The part of Babel's `NodePath` that this file reads. */
interface Place {
  readonly node: Syntax;
  readonly listKey?: string | null;
  readonly parentPath: Place | null;
}

const CODE = /^[A-Z][A-Z_]+$/;
const MESSAGE = "the message of an error";
/** Functions that turn a message into an error. */
const MESSAGE_MAKERS = new Set([
  ...["corrupt", "invalid", "invalidArgument", "malformed", "refusal", "refusalAt"],
]);

const ignorer = {
  shouldIgnore(place: Place): string | undefined {
    if (!isText(place.node)) return undefined;
    const call = callOf(place);
    const name = nameOf(call?.callee);
    if (call?.type === "NewExpression" && /(Error|Refusal)$/.test(name)) return MESSAGE;
    if (call?.type === "CallExpression" && MESSAGE_MAKERS.has(name)) return MESSAGE;
    if (call?.type === "CallExpression" && name === "prepare") return "a statement of SQL";
    return undefined;
  },
};

/** The export that Stryker looks for in a plugin. */
export const strykerPlugins = [{ kind: "Ignore", name: "texts", value: ignorer }];

function isText({ type, value }: Syntax): boolean {
  if (type === "TemplateLiteral") return true;
  return type === "StringLiteral" && !CODE.test(String(value));
}

/** The call that has this text as an argument, directly or as part of a concatenation or a conditional. */
function callOf(place: Place): Syntax | undefined {
  const { parentPath, listKey } = place;
  if (parentPath === null) return undefined;
  if (listKey === "arguments") return parentPath.node;
  const joins = ["BinaryExpression", "ConditionalExpression", "LogicalExpression"];
  return joins.includes(parentPath.node.type) ? callOf(parentPath) : undefined;
}

function nameOf(callee: Syntax | undefined): string {
  return String(callee?.name ?? callee?.property?.name ?? "");
}
