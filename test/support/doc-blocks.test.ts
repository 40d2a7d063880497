import { describe, expect, test } from "vitest";
import { docProblems, findBlocks } from "./doc-blocks.ts";

const page = (...lines: string[]) => ({ path: "docs/page.md", text: lines.join("\n") });
const prelude = (name: string, text: string) => ({
  path: `test/project/docs-preludes/${name}.ts`,
  text,
});

describe("blocks", () => {
  test("in TypeScript are found, with their first line", () => {
    const found = findBlocks(
      page("# A", "```ts", "a();", "```", "```sh", "b", "```", "~~~typescript", "c();", "~~~"),
    );
    expect(found.map(({ line, code }) => [line, code])).toEqual([
      [3, "a();"],
      [9, "c();"],
    ]);
  });

  test("inside a list lose the indentation of the list", () => {
    const found = findBlocks(page("- a", "  ```ts", "  if (a) {", "    b();", "  }", "  ```"));
    expect(found[0]?.code).toBe("if (a) {\n  b();\n}");
  });

  test("inside a longer fence are ignored", () => {
    expect(findBlocks(page("````md", "```ts", "a();", "```", "````"))).toEqual([]);
  });

  test("use only the preludes named directly before them", () => {
    const note = "<!-- prelude: shop, mail -->";
    const code = ["```ts", "a();", "```"];
    const found = findBlocks(page(note, "", ...code, ...code, note, "Text.", ...code));
    expect(found.map(({ preludes }) => preludes)).toEqual([["shop", "mail"], [], []]);
  });
});

describe("problems", () => {
  test("a block that does not compile is reported with its line on the page (doc-blocks.3)", () => {
    const problems = docProblems([page("Text.", "```ts", "", "const a: string = 1;", "```")], []);
    expect(problems).toEqual([
      "docs/page.md:4 TS2322: Type 'number' is not assignable to type 'string'.",
    ]);
  });

  test("lines of a prelude are not counted as lines of the page (doc-blocks.3)", () => {
    const problems = docProblems(
      [page("<!-- prelude: shop -->", "```ts", "price();", "const a: number = price();", "```")],
      [prelude("shop", "declare function price(): string;\nconst b: number = price();")],
    );
    expect(problems).toEqual([
      "test/project/docs-preludes/shop.ts:2 TS2322: Type 'string' is not assignable to type 'number'.",
      "docs/page.md:4 TS2322: Type 'string' is not assignable to type 'number'.",
    ]);
  });

  test("blocks do not see each other (doc-blocks.1)", () => {
    const problems = docProblems(
      [page("```ts", "const a = 1;", "```", "```ts", "console.log(a);", "```")],
      [],
    );
    expect(problems).toEqual(["docs/page.md:5 TS2304: Cannot find name 'a'."]);
  });

  test("an unknown prelude is reported", () => {
    const problems = docProblems([page("<!-- prelude: no -->", "```ts", "await 1;", "```")], []);
    expect(problems).toEqual(["docs/page.md:3 uses an unknown prelude: no"]);
  });

  test("ignoring a block without a reason is reported (doc-blocks.2)", () => {
    const block = ["```ts ignore", "const a = ;", "```"];
    expect(docProblems([page(...block)], [])).toEqual([
      "docs/page.md:2 is ignored without a reason",
    ]);
    expect(docProblems([page("<!-- ignore: not yet valid -->", ...block)], [])).toEqual([]);
  });
});

describe("blocks that show a file (doc-blocks.4)", () => {
  const shown = (...code: string[]) =>
    page("<!-- file: examples/a/a.ts -->", "", "```ts", ...code, "```");
  const example = {
    path: "examples/a/a.ts",
    text: 'import { job } from "../../src/index.ts";\n\nexport const a = job("a", () => 1);\n',
  };

  test("are lines of the file, with the names of the package", () => {
    const whole = shown(
      'import { job } from "perdure";',
      "",
      'export const a = job("a", () => 1);',
    );
    expect(docProblems([whole], [], [example])).toEqual([]);
    const part = shown('export const a = job("a", () => 1);');
    expect(docProblems([part], [], [example])).toEqual([]);
  });

  test("must not differ from the file", () => {
    const other = shown('export const a = job("a", () => 2);');
    expect(docProblems([other], [], [example])).toEqual([
      "docs/page.md:4 differs from examples/a/a.ts",
    ]);
    expect(docProblems([shown("export const a = job(")], [], [example])).toHaveLength(1);
  });

  test("must name a file that exists", () => {
    expect(docProblems([shown("")], [], [])).toEqual([
      "docs/page.md:4 shows an unknown file: examples/a/a.ts",
    ]);
  });
});
