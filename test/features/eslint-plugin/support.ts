// Shared by the tests of the rules: ESLint's RuleTester, connected to vitest, and an orchestration around a snippet.
//   - A test case in plain JavaScript runs twice, with ESLint's parser and with typescript-eslint's parser. Both
//       syntax trees must give the same result.

import { RuleTester, type Linter, type Rule } from "eslint";
import tseslint from "typescript-eslint";
import { describe, test } from "vitest";

RuleTester.describe = describe;
RuleTester.it = test;

const PARSERS: Readonly<Record<string, Linter.LanguageOptions>> = {
  "ESLint's parser": { ecmaVersion: 2026, sourceType: "module" },
  "typescript-eslint's parser": { parser: tseslint.parser, sourceType: "module" },
};

interface Case {
  readonly name: string;
  readonly code: string;
  readonly options?: readonly unknown[];
  readonly settings?: Linter.Config["settings"];
}
interface InvalidCase extends Case {
  readonly errors: readonly RuleTester.TestCaseError[];
}
export interface Cases {
  readonly valid: readonly Case[];
  readonly invalid: readonly InvalidCase[];
}

export function testRule(
  name: string,
  rule: Rule.RuleModule,
  javascript: Cases,
  typescript?: Cases,
) {
  for (const [parser, languageOptions] of Object.entries(PARSERS)) {
    describe(`with ${parser}`, () => run(name, rule, languageOptions, javascript));
  }
  if (typescript === undefined) return;
  const languageOptions = { parser: tseslint.parser, sourceType: "module" } as const;
  describe("in TypeScript", () => run(name, rule, languageOptions, typescript));
}

function run(
  name: string,
  rule: Rule.RuleModule,
  languageOptions: Linter.LanguageOptions,
  { valid, invalid }: Cases,
): void {
  new RuleTester({ languageOptions }).run(name, rule, {
    valid: valid.map(optionsOf),
    invalid: invalid.map(({ errors, ...rest }) => ({ ...optionsOf(rest), errors: [...errors] })),
  });
}

function optionsOf({ options, settings, ...rest }: Case) {
  return {
    ...rest,
    ...(options === undefined ? {} : { options: [...options] }),
    ...(settings === undefined ? {} : { settings }),
  };
}

/** The snippet as the body of an orchestration. `before` has the declarations that the snippet needs. */
export function inside(body: string, before = ""): string {
  return [
    `import { activity, orchestration } from "perdure";`,
    before,
    `const charge = activity("charge", async (cents) => cents);`,
    `export const work = orchestration("work", async (ctx, input) => {`,
    body,
    `});`,
  ].join("\n");
}
