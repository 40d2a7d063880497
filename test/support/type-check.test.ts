import { expect, test } from "vitest";
import { typeCheck } from "./type-check.ts";

test("errors are reported with file and line; expected errors are not (type-check.1)", () => {
  const problems = typeCheck([
    file("wrong.ts", "const a = 1;", "const b: string = a;"),
    file("expected.ts", "// @ts-expect-error a number is not a string", "const b: string = 1;"),
    file("unused.ts", "// @ts-expect-error nothing is wrong", "const b: string = 'b';"),
    file("syntax.ts", "const a = ;"),
    file("strict.ts", "const list: number[] = [];", "", "const n: number = list[0];"),
    file("top-level-await.ts", "const a = 1;", "await Promise.resolve(a);"),
  ]);
  expect(problems.map(({ path, line, message }) => `${path}:${line} ${message}`)).toEqual([
    "virtual/wrong.ts:2 TS2322: Type 'number' is not assignable to type 'string'.",
    "virtual/unused.ts:1 TS2578: Unused '@ts-expect-error' directive.",
    "virtual/syntax.ts:1 TS1109: Expression expected.",
    expect.stringMatching(/^virtual\/strict\.ts:3 TS2322: Type 'number \| undefined'/),
  ]);
});

function file(name: string, ...lines: string[]) {
  return { path: `virtual/${name}`, text: lines.join("\n") };
}
