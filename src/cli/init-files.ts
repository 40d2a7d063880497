// The files that `perdure init` writes: a config, a first orchestration, and compiler options that fit what Node runs.

export interface InitFile {
  readonly path: string;
  readonly text: string;
  /** A file of the project that may be there already, and then stays as it is. */
  readonly isShared?: true;
}

export interface InitChoices {
  readonly store: string;
  /** Of the files: ts, mts or mjs. */
  readonly extension: "ts" | "mts" | "mjs";
}

/** What Node's type stripping needs: imports that name their file, and only syntax that can be erased. */
export const COMPILER_OPTIONS = {
  target: "esnext",
  module: "nodenext",
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
} as const;

export function initFiles({ store, extension }: InitChoices): readonly InitFile[] {
  const isTyped = extension !== "mjs";
  const compiler = JSON.stringify({ compilerOptions: COMPILER_OPTIONS }, null, 2);
  return [
    { path: `perdure.config.${extension}`, text: configText(store, extension) },
    { path: `orchestrations/hello.${extension}`, text: helloText(isTyped) },
    ...(isTyped ? [{ path: "tsconfig.json", text: `${compiler}\n`, isShared: true as const }] : []),
  ];
}

function configText(store: string, extension: string): string {
  return `// What the \`perdure\` command works with: the store, and the code that runs on it.

import { defineConfig } from "perdure";
import * as hello from "./orchestrations/hello.${extension}";

export default defineConfig({
  store: ${JSON.stringify(store)},
  register: [hello], // every orchestration and activity that the module exports
});
`;
}

function helloText(isTyped: boolean): string {
  const ofText = isTyped ? ": string" : "";
  const eventType = isTyped ? "<string>" : "";
  return `// A first orchestration: greets a person, and waits up to an hour for an answer.

import { event, orchestration } from "perdure";

export const answer = event${eventType}("answer");

/** It waits through ctx alone, and continues after every crash where it stopped. */
export const hello = orchestration("hello", async (ctx, name${ofText}) => {
  // A step does the work. Its result is recorded, so a step that completed does not run again.
  const greeting = await ctx.step("greet", async () => {
    console.log(\`greeting \${name}\`);
    return \`Hello, \${name}!\`;
  });
  const first = await ctx.race({ answer: ctx.event(answer), silence: ctx.sleep("1h") });
  return { greeting, answer: first.key === "answer" ? first.value : null };
});
`;
}
