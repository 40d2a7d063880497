// The files that `perdure init` writes: a config, a first orchestration, and a tsconfig.json for Node's type
// stripping.

export interface InitFile {
  readonly path: string;
  readonly text: string;
  /** The project may already have this file. `perdure init` does not change an existing one. */
  readonly isShared?: true;
}

export interface InitChoices {
  readonly store: string;
  /** The extension of the written files. */
  readonly extension: "ts" | "mts" | "mjs";
}

/** The options that Node's type stripping needs: imports with file extensions, and erasable syntax only. */
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
  return `// Configures the \`perdure\` command: the store, and the code that runs on it.

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

/** It waits only through ctx. After a crash it continues where it stopped. */
export const hello = orchestration("hello", async (ctx, name${ofText}) => {
  // A step does the work. Perdure records its result, so a completed step does not run again.
  const greeting = await ctx.step("greet", async () => {
    console.log(\`greeting \${name}\`);
    return \`Hello, \${name}!\`;
  });
  // The answer, or null after an hour.
  return { greeting, answer: await ctx.waitFor(answer, { timeout: "1h" }) };
});
`;
}
