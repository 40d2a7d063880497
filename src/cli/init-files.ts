// The files that `perdure init` writes: a config and a first orchestration.

export interface InitFile {
  readonly path: string;
  readonly text: string;
}

export interface InitChoices {
  readonly store: string;
  /** Of the files: ts, mts or mjs. */
  readonly extension: "ts" | "mts" | "mjs";
}

export function initFiles({ store, extension }: InitChoices): readonly InitFile[] {
  const isTyped = extension !== "mjs";
  return [
    { path: `perdure.config.${extension}`, text: configText(store, extension) },
    { path: `orchestrations/hello.${extension}`, text: helloText(isTyped) },
  ];
}

function configText(store: string, extension: string): string {
  return `// What the \`perdure\` command works with: the store, and the code that runs on it.

import { defineConfig } from "perdure";
import { greet, hello } from "./orchestrations/hello.${extension}";

export default defineConfig({
  store: ${JSON.stringify(store)},
  register: [hello, greet],
});
`;
}

function helloText(isTyped: boolean): string {
  const ofText = isTyped ? ": string" : "";
  const eventType = isTyped ? "<string>" : "";
  return `// A first orchestration: greets somebody, and waits up to an hour for an answer.

import { activity, event, orchestration } from "perdure";

/** Activities do the work: they may do anything, and are tried again if they fail. */
export const greet = activity("greet", async (name${ofText}) => \`Hello, \${name}!\`, { retry: 3 });

export const answer = event${eventType}("answer");

/** Orchestrations coordinate: they wait through ctx alone, and survive every crash in between. */
export const hello = orchestration("hello", async (ctx, name${ofText}) => {
  const greeting = await ctx.run(greet, name);
  const first = await ctx.race({ answer: ctx.event(answer), silence: ctx.sleep("1h") });
  return { greeting, answer: first.key === "answer" ? first.value : null };
});
`;
}
