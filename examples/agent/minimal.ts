// An agent in one page: the model and the tools are activities, tokens are a stream, a dangerous tool waits for a person,
// and a budget ends the loop. docs/agents.md shows this file.

import {
  activity,
  event,
  NonRetryableError,
  orchestration,
  RetryAfterError,
} from "../../src/index.ts";
import { stream } from "../../src/stream/index.ts";

export interface Message {
  readonly role: "user" | "tool";
  readonly text: string;
}
export type Thought =
  | { readonly kind: "answer"; readonly text: string; readonly cost: number }
  | { readonly kind: "tool"; readonly tool: "search" | "remove"; text: string; cost: number };

export const tokens = stream<{ readonly text: string }>("tokens");
export const decision = event<{ readonly approved: boolean }>("decision");

/** One request to the model. It answers with lines of JSON: `{ text }` while it writes, then the thought. */
export const think = activity(
  "think",
  async (messages: readonly Message[], ctx): Promise<Thought> => {
    const response = await fetch("https://model.example/v1/think", {
      method: "POST",
      body: JSON.stringify({ messages }),
      headers: { "idempotency-key": ctx.idempotencyKey },
      signal: ctx.signal,
    });
    if (response.status === 429 || response.status >= 500) {
      const seconds = Number(response.headers.get("retry-after") ?? 30);
      throw new RetryAfterError(seconds * 1_000, `the provider answered ${response.status}`);
    }
    if (!response.ok) throw new NonRetryableError(`the provider answered ${response.status}`);
    await using out = ctx.stream(tokens);
    let thought: Thought | undefined;
    let rest = "";
    for await (const bytes of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = `${rest}${bytes}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const part = JSON.parse(line) as { text: string } | Thought;
        if ("kind" in part) thought = part;
        else await out.write(part);
      }
    }
    if (thought === undefined) throw new Error("the answer of the model ended early"); // retried
    return thought;
  },
  { attempts: 500, timeout: "2m", limit: { concurrency: 20, rate: { count: 100, per: "1m" } } },
);
export const search = activity("search", async (words: string) => `nothing about ${words}`, {
  attempts: 3,
});
export const remove = activity("remove", async (path: string) => `removed ${path}`);

export const agent = orchestration(
  "agent",
  async (ctx, { question, budget }: { question: string; budget: number }) => {
    const messages: Message[] = [{ role: "user", text: question }];
    for (let spent = 0; spent < budget;) {
      const thought = await ctx.run(think, messages, { scheduleToClose: "6h" });
      spent += thought.cost;
      ctx.setStatus({ spent, budget });
      if (thought.kind === "answer") return thought.text;
      if (thought.tool === "search") {
        messages.push({ role: "tool", text: await ctx.run(search, thought.text) });
      } else {
        const answer = await ctx.waitFor(decision, { timeout: "1d", details: thought });
        const isAllowed = answer?.approved === true;
        const text = isAllowed ? await ctx.run(remove, thought.text) : "not allowed";
        messages.push({ role: "tool", text });
      }
    }
    return `stopped: the budget of ${budget} is spent`;
  },
);
