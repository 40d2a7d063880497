// The ESLint plugin: rules for the mistakes that replay would find later, at the time of writing.
//   EP1. It needs no type information and no parser of its own: plain JavaScript and TypeScript alike.
//   EP2. It loads nothing: ESLint is the host's, and only its types are named here.

import type { Linter, Rule } from "eslint";
import { noContextInStep } from "./no-context-in-step.ts";
import { noFloatingTask } from "./no-floating-task.ts";
import { noForeignAwait } from "./no-foreign-await.ts";
import { noIo } from "./no-io.ts";
import { noNativeRace } from "./no-native-race.ts";
import { noNondeterminism } from "./no-nondeterminism.ts";
import { noOuterMutation } from "./no-outer-mutation.ts";

/** The package's; ESLint's cache goes by it. A test compares the two. */
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

/** Written down, so that its declaration names nothing but ESLint's own types. */
export interface Plugin {
  readonly meta: { readonly name: string; readonly version: string; readonly namespace: string };
  readonly rules: { readonly [Name in keyof typeof rules]: Rule.RuleModule };
  readonly configs: { readonly recommended: Linter.Config };
}

/** All rules, as errors. */
const recommended: Linter.Config = {
  name: "perdure/recommended",
  rules: Object.fromEntries(Object.keys(rules).map((name) => [`perdure/${name}`, "error"])),
};

/**
 * The plugin, for a flat config: `export default [perdure.configs.recommended]`.
 * A default export, because that is how configs import plugins.
 */
const plugin: Plugin = {
  meta: { name: "perdure/eslint-plugin", version: VERSION, namespace: "perdure" },
  rules,
  configs: { recommended },
};
// The same object everywhere: a config that names the plugin a second time may not mean another one.
recommended.plugins = { perdure: plugin };

export default plugin;
