// The ESLint plugin: finds mistakes in orchestration code that would otherwise appear as replay errors at run
// time. README.md describes the folder.
//   - It needs no type information and no special parser. It works for JavaScript and TypeScript.
//   - It imports nothing at run time: only types of ESLint, and nothing from the rest of this library.

import type { Linter, Rule } from "eslint";
import { noContextInStep } from "./no-context-in-step.ts";
import { noFloatingTask } from "./no-floating-task.ts";
import { noForeignAwait } from "./no-foreign-await.ts";
import { noIo } from "./no-io.ts";
import { noNativeRace } from "./no-native-race.ts";
import { noNondeterminism } from "./no-nondeterminism.ts";
import { noOuterMutation } from "./no-outer-mutation.ts";

/** The version of the package, which is part of ESLint's cache key. A test compares it with package.json. */
const VERSION = "0.1.0";

const rules = {
  "no-context-in-step": noContextInStep,
  "no-floating-task": noFloatingTask,
  "no-foreign-await": noForeignAwait,
  "no-io": noIo,
  "no-native-race": noNativeRace,
  "no-nondeterminism": noNondeterminism,
  "no-outer-mutation": noOuterMutation,
} satisfies Record<string, Rule.RuleModule>;

/**
 * The type of the plugin. An explicit type keeps the generated declaration free of types other than
 * ESLint's.
 */
export interface Plugin {
  readonly meta: { readonly name: string; readonly version: string; readonly namespace: string };
  readonly rules: { readonly [Name in keyof typeof rules]: Rule.RuleModule };
  readonly configs: { readonly recommended: Linter.Config };
}

/** Enables all rules as errors. */
const recommended: Linter.Config = {
  name: "perdure/recommended",
  rules: Object.fromEntries(Object.keys(rules).map((name) => [`perdure/${name}`, "error"])),
};

/**
 * The plugin, for a flat config: `export default [perdure.configs.recommended]`.
 * It is a default export because configs import plugins that way.
 */
const plugin: Plugin = {
  meta: { name: "perdure/eslint-plugin", version: VERSION, namespace: "perdure" },
  rules,
  configs: { recommended },
};
// ESLint rejects a config that registers two different objects under one plugin name, so all configs use
// this object.
recommended.plugins = { perdure: plugin };

export default plugin;
