// The tools: activities with real effects. A tool that changes something does it once per idempotency key, so that a
// second run after a crash finds the work done.

import { setTimeout as pause } from "node:timers/promises";
import { activity, NonRetryableError, type ActivityContext } from "../../src/index.ts";
import { calculate as valueOf } from "./calculator.ts";
import { searchDocs } from "./doc-search.ts";
import type { ToolCall } from "./protocol.ts";
import type { Workspace } from "./workspace.ts";

const EXCERPT_WORDS = 12;

type Call<Tool extends ToolCall["tool"]> = Extract<ToolCall, { tool: Tool }>;

export function defineTools(options: {
  readonly workspace: Workspace;
  /** A folder of Markdown files. */
  readonly docs: string;
  /** The delay of a tool's answer: a crash between the effect and the answer is the hard case. */
  readonly answerMs: number;
  readonly entered: (ctx: ActivityContext) => void;
}) {
  const { workspace } = options;

  /** A mistake of the model is returned to it at once; any other error may be retried. */
  function tool<I>(name: string, run: (input: I, key: string) => string) {
    return activity(
      name,
      async (input: I, ctx) => {
        options.entered(ctx);
        const outcome = outcomeOf(() => run(input, ctx.idempotencyKey));
        await pause(options.answerMs, undefined, { signal: ctx.signal });
        return outcome;
      },
      { attempts: 3, timeout: "30s" },
    );
  }

  return {
    calculate: tool("calculate", ({ expression }: Call<"calculate">) =>
      String(valueOf(expression)),
    ),
    search: tool("search", ({ words }: Call<"search">) => {
      const found = searchDocs(options.docs, words);
      if (found === null) throw new Error(`no page says anything about ${words}`);
      const excerpt = found.text.split(" ").slice(0, EXCERPT_WORDS).join(" ");
      return `${excerpt} … (${found.file}, line ${found.line})`;
    }),
    read: tool("read", ({ path }: Call<"read">) => {
      const text = workspace.read(path);
      if (text === null) throw new Error(`there is no ${path}`);
      return text.trim();
    }),
    write: tool("write", ({ path, text }: Call<"write">, key) =>
      workspace.changeOnce(key, path, () => ({ content: `${text}\n`, outcome: `Wrote ${path}` })),
    ),
    append: tool("append", ({ path, text }: Call<"append">, key) =>
      workspace.changeOnce(key, path, (before) => ({
        content: `${before ?? ""}- ${text}\n`,
        outcome: `Noted in ${path}`,
      })),
    ),
    delete: tool("delete", ({ path }: Call<"delete">, key) =>
      workspace.changeOnce(key, path, (before) => {
        if (before === null) throw new Error(`there is no ${path}`);
        return { content: null, outcome: `Deleted ${path}` };
      }),
    ),
    /** Not for the model: delivers the answer to the people, once. */
    post: tool("post", ({ question, answer }: { question: string; answer: string }, key) =>
      workspace.changeOnce(key, "chat.md", (before) => ({
        content: `${before ?? ""}**you**: ${question}\n**agent**: ${answer}\n\n`,
        outcome: "posted",
      })),
    ),
  };
}

function outcomeOf(run: () => string): string {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof Error) || "code" in error) throw error; // a system error, which may pass
    throw new NonRetryableError(error.message);
  }
}
