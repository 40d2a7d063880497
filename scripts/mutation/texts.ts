// Which texts are not mutated, with the reason that the report shows.
//   TX1. Messages of errors are for people and may change. Their codes are mutated, and so is every other text.
//   TX2. A statement of SQL can only be emptied, which the first test that opens a store would notice: it would flatter the
//        score and say nothing. What statements decide is tested by the contract, the model and `npm run sabotage`.

interface Syntax {
  readonly type: string;
  readonly value?: unknown;
  readonly name?: unknown;
  readonly callee?: Syntax;
  readonly property?: Syntax;
}
/** As much of Babel's `NodePath` as is read here. */
interface Place {
  readonly node: Syntax;
  readonly listKey?: string | null;
  readonly parentPath: Place | null;
}

const CODE = /^[A-Z][A-Z_]+$/;
const MESSAGE = "the message of an error";
/** Functions that make an error of a message. */
const MESSAGE_MAKERS = new Set(["refusal", "refusalAt", "invalid", "malformed"]);

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

/** What Stryker looks for in a plugin. */
export const strykerPlugins = [{ kind: "Ignore", name: "texts", value: ignorer }];

function isText({ type, value }: Syntax): boolean {
  if (type === "TemplateLiteral") return true;
  return type === "StringLiteral" && !CODE.test(String(value));
}

/** The call of which this text is an argument, by itself or as a part of a sum or a choice. */
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
