// Connecting steps with wrong types is a compile error with a readable message.

import { expect, test } from "vitest";
import { typeCheck } from "../../support/type-check.ts";

const PRELUDE = `
import { activity, orchestration } from "perdure";
import { again, done, flow } from "perdure/flow";
interface Order { readonly kind: "card" | "bank" }
interface Receipt { readonly chargeId: string }
const mail = activity("mail", (receipt: Receipt) => receipt.chargeId);
const audit = orchestration("audit", async (_, receipt: Receipt) => receipt.chargeId);
`;

const CASES: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "a step with another input type",
    `flow<Order>("x").then(mail);`,
    ['"this step takes"', '"but it is given"'],
  ],
  [
    "a child with another input type",
    `flow<Order>("x").child(audit);`,
    ['"this step takes"', '"but it is given"'],
  ],
  [
    "a route without a case",
    `flow<Order>("x").route("r", (o) => o.kind, { card: (f) => f });`,
    ["Property 'bank' is missing"],
  ],
  [
    "a case that no key selects",
    `flow<Order>("x").route("r", (o) => o.kind, { card: (f) => f, bank: (f) => f, cash: (f) => f });`,
    ["no key leads to this case"],
  ],
  [
    "open keys without otherwise",
    `flow<string>("x").route("r", (key) => key, { a: (f) => f });`,
    ["its keys are open, so it needs { otherwise }"],
  ],
  [
    "a loop that never ends",
    `flow<number>("x").loop("l", (f) => f.then("s", (n) => n + 1));`,
    [`"a loop's body ends in"`, '"but this one in"'],
  ],
];

const files = CASES.map(([, code], index) => ({
  path: `message${index}.ts`,
  text: PRELUDE + code,
}));
const problems = typeCheck(files);

test.each(CASES)("the compile error explains %s", (_title, code, words) => {
  const path = files.find(({ text }) => text.endsWith(code))?.path;
  const found = problems.filter((problem) => problem.path === path);
  expect(found).not.toEqual([]);
  for (const word of words) expect(found.map(({ message }) => message).join("\\n")).toContain(word);
});
