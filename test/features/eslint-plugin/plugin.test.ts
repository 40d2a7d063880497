// The plugin as a whole, run by ESLint on a TypeScript file with the recommended config.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ESLint, type Linter } from "eslint";
import tseslint from "typescript-eslint";
import { expect, test } from "vitest";
import plugin from "../../../src/eslint-plugin/index.ts";
import { projectRoot } from "../../support/source-files.ts";

const FIXTURE = `
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { activity, orchestration, type OrchestrationContext } from "perdure";

interface Order { readonly id: string; readonly lines: readonly string[] }

let running = 0;
const ship = activity("ship", async (line: string) => readFile(line, "utf8"));

async function shipAll(ctx: OrchestrationContext<Order>, lines: readonly string[]): Promise<void> {
  for (const line of lines) ctx.run(ship, line);
}

export const fulfil = orchestration("fulfil", async (ctx, order: Order) => {
  running++;
  const rates = await readFile("rates.json", "utf8");
  await once(process, "SIGUSR2");
  await Promise.race([ctx.sleep("1d"), ctx.waitFor("approval")]);
  await ctx.step("note", async () => { await ctx.sleep("1s"); });
  await shipAll(ctx, order.lines satisfies readonly string[]);
  return { rates, region: process.env["REGION"], at: new Date() };
});
`;

const EXPECTED = [
  [12, "perdure/no-floating-task"],
  [16, "perdure/no-outer-mutation"],
  [17, "perdure/no-io"],
  [18, "perdure/no-foreign-await"],
  [19, "perdure/no-native-race"],
  [20, "perdure/no-context-in-step"],
  [22, "perdure/no-nondeterminism"],
];

async function lint(code: string, config: Linter.Config[], filePath: string) {
  const eslint = new ESLint({ cwd: projectRoot, overrideConfigFile: true, overrideConfig: config });
  const [result] = await eslint.lintText(code, { filePath });
  return result?.messages ?? [];
}
const placesOf = (messages: readonly Linter.LintMessage[]) =>
  messages.map(({ line, ruleId }) => [line, ruleId]);

const typescript: Linter.Config = {
  files: ["**/*.ts"],
  languageOptions: { parser: tseslint.parser },
};

test("the recommended config finds each mistake of a TypeScript file once, and nothing else", async () => {
  const messages = await lint(FIXTURE, [typescript, plugin.configs.recommended], "order.ts");
  expect(placesOf(messages)).toEqual(EXPECTED);
  expect(messages.every(({ severity }) => severity === 2)).toBe(true);
});

test("every message of the recommended config names the way out", async () => {
  const messages = await lint(FIXTURE, [typescript, plugin.configs.recommended], "order.ts");
  const named = /ctx\.(?:run|step|waitFor|race|kv)|Await it|Call it before/;
  expect(messages.filter(({ message }) => !named.test(message))).toEqual([]);
});

test("plain JavaScript needs no other parser", async () => {
  const code = `import { orchestration } from "perdure";
    export const o = orchestration("o", async (ctx) => { ctx.sleep("1s"); });`;
  const messages = await lint(code, [plugin.configs.recommended], "order.js");
  expect(placesOf(messages)).toEqual([[2, "perdure/no-floating-task"]]);
});

test("single rules can be configured in addition to the recommended config", async () => {
  const own: Linter.Config = {
    plugins: { perdure: plugin },
    rules: {
      "perdure/no-nondeterminism": ["warn", { derived: "report" }],
      "perdure/no-floating-task": "off",
    },
  };
  const messages = await lint(FIXTURE, [typescript, plugin.configs.recommended, own], "order.ts");
  expect(placesOf(messages)).toEqual([...EXPECTED.slice(1), [22, "perdure/no-nondeterminism"]]);
});

test("the schema of a rule refuses an unknown option", async () => {
  const wrong: Linter.Config = { rules: { "perdure/no-io": ["error", { module: [] }] } };
  const linting = lint("", [plugin.configs.recommended, wrong], "order.js");
  await expect(linting).rejects.toThrow(/perdure\/no-io/);
});

test("the plugin has the version of the package, and all of its rules are recommended and documented", () => {
  const text = (path: string) => readFileSync(join(projectRoot, path), "utf8");
  const { version } = JSON.parse(text("package.json")) as { version: string };
  expect(plugin.meta.version).toBe(version);
  const names = Object.keys(plugin.rules);
  expect(Object.keys(plugin.configs.recommended.rules ?? {})).toEqual(
    names.map((name) => `perdure/${name}`),
  );
  const page = text("docs/eslint-plugin.md");
  expect(names.filter((name) => !page.includes(`\n## ${name}\n`))).toEqual([]);
  for (const rule of Object.values(plugin.rules)) {
    expect(rule.meta?.docs?.description).toMatch(/^[A-Z].*\.$/);
  }
});
